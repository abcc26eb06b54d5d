export { type Catalog, catalogIdOf, createCatalog, versionOf } from './catalog.js';
export { catalogRoutes } from './routes.js';
export { type CatalogRow, entryByPath } from './store.js';
