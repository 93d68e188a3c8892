/**
 * The headers that every answer carries, whatever it is, and those of a page that people see. An answer of data is never sniffed, kept,
 * framed, or run as anything; a page may have its own style and post to where it came from, and nothing else: no script, no frame, no cookie.
 */
export const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** A year, as browsers ask for. Only where the service is reached by https. */
export const HSTS = 'max-age=31536000'

/** `styleHash` is the SHA-256 of the page's one style element, in base64. */
export function pageHeaders(styleHash: string): Readonly<Record<string, string>> {
  return {
    'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
}

/** What a program in a page of another site may do with a route that is open to it (the Fetch standard, 3.2). No credentials: there are none. */
export const CROSS_ORIGIN_ANSWER: Readonly<Record<string, string>> = { 'Access-Control-Allow-Origin': '*' }
export const CROSS_ORIGIN_PREFLIGHT: Readonly<Record<string, string>> = {
  ...CROSS_ORIGIN_ANSWER,
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'Content-Type',
  'Access-Control-Max-Age': '86400',
}
