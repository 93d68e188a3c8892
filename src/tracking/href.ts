/**
 * Resolves an href as a mail client does: decodes character references as in an attribute (HTML standard 13.2.5.73:
 * `&copy=1` stays unchanged), then parses the URL (URL standard 4.4), which also strips and percent-encodes characters.
 */
import { Parser } from 'htmlparser2'

/** The wrapped form of a URL up to this length works in all programs and proxies. */
const MAX_URL_LENGTH = 4096

/** The URL that is opened, in ASCII; null if it is not an absolute http or https URL. */
export function resolveHref(value: string): string | null {
  const text = decode(value)
    .replace(/^[\0-\x20]+/, '')
    .replaceAll(/[\t\n\r]/g, '')
  if (!/^https?:\/\/[^/\\]/i.test(text)) return null
  const url = URL.parse(text)
  return url === null || !isWeb(url) || url.href.length > MAX_URL_LENGTH ? null : url.href
}

function isWeb({ protocol, hostname }: URL): boolean {
  return (protocol === 'http:' || protocol === 'https:') && hostname !== ''
}

/** Whether a redirect may lead to this URL: only to a result of `resolveHref`. */
export function isRedirectTarget(url: string): boolean {
  return resolveHref(url.replaceAll('&', '&amp;')) === url
}

function decode(value: string): string {
  if (!value.includes('&')) return value
  // the common case: every & is written as &amp; (or begins no character reference)
  const simple = value.replaceAll('&amp;', '&')
  if (!value.replaceAll('&amp;', '').includes('&')) return simple
  let decoded = ''
  const parser = new Parser(
    {
      onattribute: (_, text) => {
        decoded = text
      },
    },
    { decodeEntities: true, lowerCaseAttributeNames: true },
  )
  parser.end(`<a href="${value.replaceAll('"', '&quot;')}">`)
  return decoded
}
