/**
 * The cookie that binds the sign-in at a provider to one browser: random, for ten minutes, sent with requests of this
 * host only (`__Host-`, where PUBLIC_URL is https), and not with requests that other sites make.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '#config/load.ts'

const NAME = 'mailstead-sign-in'
const VALUE = /^[A-Za-z0-9_-]{43}$/
const MAX_AGE_SECONDS = 600

/** With the prefix that binds it to this host, which needs https. */
export function cookieName({ publicUrl }: Pick<Config, 'publicUrl'>, name: string): string {
  return publicUrl.startsWith('https:') ? `__Host-${name}` : name
}

/** The value of 32 bytes in base64url; null without one. */
export function readCookie(name: string, { cookie = '' }: IncomingHttpHeaders): string | null {
  const prefix = `${name}=`
  const pair = cookie.split(/; */).find((one) => one.startsWith(prefix))
  const value = pair?.slice(prefix.length) ?? ''
  return VALUE.test(value) ? value : null
}

/** The value; null without one. */
export function readBrowserCookie(config: Pick<Config, 'publicUrl'>, headers: IncomingHttpHeaders): string | null {
  return readCookie(cookieName(config, NAME), headers)
}

/** Whether another site made the browser send this request (Fetch Metadata). Programs send no such header. */
export function isCrossSite(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}

/** The header that sets it. `Lax`: it is sent when the provider redirects back. */
export function browserCookie(config: Pick<Config, 'publicUrl'>, value: string): Readonly<Record<string, string>> {
  const secure = config.publicUrl.startsWith('https:') ? '; Secure' : ''
  const attributes = `Path=/; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${secure}`
  return { 'Set-Cookie': `${cookieName(config, NAME)}=${value}; ${attributes}` }
}
