/**
 * A template or a partial is made ready outside a transaction and stored under locks. Outrun: what it was made of was changed meanwhile, so
 * nothing was stored, and it is made anew of what there is then.
 */
export interface Outrun {
  readonly kind: 'outrun'
}

const TRIES = 5

/** @throws when it is outrun again and again. */
export async function untilStored<R extends { readonly kind: string }>(
  what: string,
  tryOnce: () => Promise<R | Outrun>,
): Promise<R> {
  for (let tries = 0; tries < TRIES; tries++) {
    const result = await tryOnce()
    if (!isOutrun(result)) return result
  }
  throw new Error(`${what} was outrun by changes ${TRIES} times`)
}

function isOutrun(result: { readonly kind: string }): result is Outrun {
  return result.kind === 'outrun'
}
