// Kept apart from connection.ts so that `--help` loads no client.
export const DEFAULT_SERVER_URL = 'http://127.0.0.1:8082';
export const DEFAULT_DATA_DIR = '.noetl';
