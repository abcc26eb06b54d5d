// Running playbooks in tests: register, start, await the end.
import type { NoetlClient } from '../../packages/client/src/index.js';
import type { JsonObject } from '../../packages/core/src/index.js';

export function playbookText(path: string, workflow: string, header = ''): string {
  const name = path.replaceAll('/', '_');
  return `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: ${name}, path: ${path} }\n${header}\nworkflow:\n${workflow}\n`;
}

/** The status the execution ends with. */
export async function ended(client: NoetlClient, id: string): Promise<string> {
  for await (const message of client.stream(id)) if (message.event === 'status') return message.data.status;
  throw new Error(`the stream of execution ${id} ended without a status`);
}

/** The id of an execution that has ended. */
export async function run(client: NoetlClient, path: string, payload: JsonObject = {}): Promise<string> {
  const { execution_id: id } = await client.execute({ path, payload });
  await ended(client, id);
  return id;
}

/** Resolves when the execution's log has an event of this type (about this step, if given). */
export async function happened(client: NoetlClient, id: string, type: string, step?: string): Promise<void> {
  for await (const message of client.stream(id)) {
    if (message.event !== 'event' || message.data.event_type !== type) continue;
    if (step === undefined || message.data.node_name === step) return;
  }
  throw new Error(`execution ${id} ended without ${type} ${step ?? ''}`);
}
