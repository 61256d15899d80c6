// What the aggregator of the same release can do: the calls of docs/openapi.json, such as "get /api/v1/sites".
declare const __API_CALLS__: readonly string[];

export function offers(call: string): boolean {
  return __API_CALLS__.includes(call);
}
