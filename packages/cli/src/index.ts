// What other rooms may use of the command line: the embedded database, for tests that need a real one.
export { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './postgres/embedded.js';
