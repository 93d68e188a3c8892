/**
 * Opens a resolver of node (c-ares) for one lookup. A resolver that is used again shortens its timeout to a multiple of
 * its recent answers, so a slow answer would be lost among fast ones. A new one waits the whole time.
 */
import { Resolver } from 'node:dns/promises'

export interface LookupLimits {
  /** ip:port; null = those of the system. */
  readonly servers: readonly string[] | null
  /** Of one try, in milliseconds. */
  readonly timeout: number
  readonly tries: number
}

/** Use it for one lookup only. */
export function openResolver({ servers, timeout, tries }: LookupLimits): Resolver {
  const resolver = new Resolver({ timeout, tries })
  if (servers !== null) resolver.setServers(servers)
  return resolver
}
