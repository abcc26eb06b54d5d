// Does nothing and says so. Its policy rules are how a playbook branches without running anything.
import { firstOf } from './config.js';
import type { Tool } from './tool.js';

export const noopTool: Tool = {
  kind: 'noop',
  takesReferences: true,
  async run({ config }) {
    const message = firstOf(config, 'message') ?? 'noop';
    return { status: 'success', data: firstOf(config, 'result') ?? { status: 'ok', message } };
  },
};
