/**
 * Whether a page of this service made a request, by what the browser says about it: Fetch Metadata, or Origin where
 * that is absent. Other sites can set neither. A cookie alone never authorises a change.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '#config/load.ts'

const CHANGES_NOTHING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** For requests that have a session: one that changes something must prove where it comes from. */
export function isFromHere(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { method = 'GET', headers }: { readonly method?: string | undefined; readonly headers: IncomingHttpHeaders },
): boolean {
  const site = headers['sec-fetch-site']
  const { origin } = headers
  if (site !== undefined && site !== 'same-origin' && !(site === 'none' && CHANGES_NOTHING.has(method))) return false
  if (origin !== undefined) return isOwnOrigin(publicUrl, origin, headers.host)
  return site !== undefined || CHANGES_NOTHING.has(method)
}

/** For requests without a session, such as a login: programs may send neither header, and browsers always do. */
export function isForeign(config: Pick<Config, 'publicUrl'>, headers: IncomingHttpHeaders): boolean {
  const isSilent = headers['sec-fetch-site'] === undefined && headers.origin === undefined
  return !isSilent && !isFromHere(config, { method: 'POST', headers })
}

/** The origin of PUBLIC_URL, or the host that the request is sent to, for an api that is reached by several names. */
function isOwnOrigin(publicUrl: string, origin: string, host: string | undefined): boolean {
  if (!URL.canParse(origin)) return false
  const [given, own] = [new URL(origin), new URL(publicUrl)]
  return given.origin === own.origin || (given.host === host && given.protocol === own.protocol)
}
