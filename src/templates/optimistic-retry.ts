/**
 * Optimistic concurrency for templates and partials. They are compiled outside a transaction and stored under locks. If
 * an input changed in between, nothing is stored, and the operation starts again with the new input.
 */
export interface ConcurrentChange {
  readonly kind: 'concurrent-change'
}

const MAX_ATTEMPTS = 5

/** @throws an error after five attempts that all met a concurrent change. */
export async function retryOnConcurrentChange<R extends { readonly kind: string }>(
  what: string,
  tryOnce: () => Promise<R | ConcurrentChange>,
): Promise<R> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const result = await tryOnce()
    if (!isConcurrentChange(result)) return result
  }
  throw new Error(`cannot save ${what}: concurrent changes in ${MAX_ATTEMPTS} consecutive attempts`)
}

function isConcurrentChange(result: { readonly kind: string }): result is ConcurrentChange {
  return result.kind === 'concurrent-change'
}
