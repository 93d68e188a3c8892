/**
 * The cookie of a session: sent with requests of this host only (`__Host-`, where PUBLIC_URL is https), never with
 * requests that other sites make (`SameSite=Strict`), and not readable by scripts.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '#config/load.ts'
import { cookieName, readCookie } from './browser-cookie.ts'

const NAME = 'mailstead-session'
const DAY_SECONDS = 24 * 3600

type CookieSettings = Pick<Config, 'publicUrl' | 'sessionMaxDays'>

/** The token; null without one. */
export function readSessionCookie(config: Pick<Config, 'publicUrl'>, headers: IncomingHttpHeaders): string | null {
  return readCookie(cookieName(config, NAME), headers)
}

/** The header that sets it. An empty token removes it. */
export function sessionCookie(config: CookieSettings, token: string): Readonly<Record<string, string>> {
  const secure = config.publicUrl.startsWith('https:') ? '; Secure' : ''
  const maxAge = token === '' ? 0 : config.sessionMaxDays * DAY_SECONDS
  return {
    'Set-Cookie': `${cookieName(config, NAME)}=${token}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`,
  }
}
