/**
 * What a reader's program opens for an href: character references decoded as in an attribute (HTML standard 13.2.5.73: `&copy=1` stays as it
 * is), then read as a URL (URL standard 4.4), which also strips what is stripped and encodes what is encoded.
 */
import { Parser } from 'htmlparser2'

/** Only the wrapped address of a link so long is understood by all programs and proxies. */
const MAX_URL_LENGTH = 4096

/** The address that is opened, in ASCII; null where it is not http or https, or no absolute URL at all. */
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

/** Whether a redirect may lead there: what `openedBy` gives, and nothing else. */
export function isRedirectTarget(url: string): boolean {
  return resolveHref(url.replaceAll('&', '&amp;')) === url
}

function decode(value: string): string {
  if (!value.includes('&')) return value
  // most of all: every & is written as &amp; (a lone one that begins nothing is one too)
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
