// A JSON document as the whole product sees it: integers beyond 2^53 are `bigint`, so no id and no
// database key is ever rounded on its way through.
export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;

export interface JsonObject {
  [key: string]: Json;
}
