// `npm run bench -- <name> [--json]`. Each benchmark prints its figures for people and one JSON object as the last line.
import { readdirSync } from 'node:fs';

const [name, ...args] = process.argv.slice(2);
const known = readdirSync(new URL('./', import.meta.url))
  .filter((file) => file.endsWith('.bench.mjs'))
  .map((file) => file.replace('.bench.mjs', ''));
if (name === undefined || !known.includes(name)) {
  console.error(`usage: npm run bench -- <${known.join('|')}> [--json]`);
  process.exit(2);
}
const { default: bench } = await import(`./${name}.bench.mjs`);
const quiet = args.includes('--json');
const figures = await bench({ args, say: quiet ? () => undefined : (line) => console.log(line) });
console.log(JSON.stringify(figures));
