/**
 * Gives a statement of pg its callback when it is made. pg assigns it later if it makes the promise itself, and V8
 * allocates a function that is assigned to a property in the old generation. This one refers to the statement, so its
 * parameters stayed until the next full collection: of each message that is stored, the whole content. See
 * docs/decisions/125.
 */
import type { Client, QueryConfig, QueryResult } from 'pg'

type Callback = (error: Error | null, result: QueryResult) => void
type Query = (config: unknown, values?: unknown, callback?: Callback) => unknown

/** From now on `client.query` makes its promises here. Statements that bring a callback of their own do not change. */
export function replaceQueryPromise(client: Client): void {
  const queries = client as unknown as { query: Query }
  const queryOfPg = queries.query.bind(client)
  queries.query = (config, values, callback) =>
    hasCallback(config, values, callback) ? queryOfPg(config, values, callback) : promiseOf(queryOfPg, config, values)
}

function hasCallback(config: unknown, values: unknown, callback: unknown): boolean {
  if (callback !== undefined || typeof values === 'function') return true
  return isObject(config) && ('callback' in config || 'submit' in config)
}

function isObject(config: unknown): config is QueryConfig {
  return typeof config === 'object' && config !== null
}

function promiseOf(queryOfPg: Query, config: unknown, values: unknown): Promise<QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult>()
  queryOfPg(config, values, (error, result) => (error === null ? resolve(result) : reject(error)))
  // as in pg: the stack leads to the caller, not to the socket
  return promise.catch((error: unknown) => {
    if (error instanceof Error) Error.captureStackTrace(error)
    throw error
  })
}
