/**
 * The id of a request, the headers of every response, and those of HTML pages. Browsers must not sniff, cache, frame or
 * execute a response. A page may use its own style element and post to its own origin: no scripts, no frames, no
 * cookies.
 */
import type { IncomingMessage } from 'node:http'
import { newId } from '#src/platform/id.ts'

export const RESPONSE_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** One year, as browsers recommend. Sent only if PUBLIC_URL is https. */
export const HSTS = 'max-age=31536000'

interface PageSources {
  /** SHA-256 of the page's only script, in base64. */
  readonly scriptHash?: string | undefined
  /** The URL of its only image. */
  readonly image?: string | undefined
}

/** `styleHash`: SHA-256 of the page's only style element, in base64. */
export function pageHeaders(
  styleHash: string,
  { scriptHash, image }: PageSources = {},
): Readonly<Record<string, string>> {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `style-src 'sha256-${styleHash}'`,
      ...(scriptHash === undefined ? [] : [`script-src 'sha256-${scriptHash}'`]),
      ...(image === undefined ? [] : [`img-src ${image}`]),
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
}

/** What scripts of other sites may do with a route that allows CORS (Fetch standard, §3.2). Without credentials. */
export const CROSS_ORIGIN_HEADERS: Readonly<Record<string, string>> = { 'Access-Control-Allow-Origin': '*' }
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  ...CROSS_ORIGIN_HEADERS,
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'Content-Type',
  'Access-Control-Max-Age': '86400',
}

// An id from the client or a proxy is used only in this form, because responses and logs repeat it.
const REQUEST_ID = /^[\w.:-]{1,128}$/

export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newId()
}
