/**
 * The name under which clicks on a link are counted: its URL without what may identify a person. The query and the
 * fragment go, except the labels of campaigns (`utm_…`), which distinguish two links to one page; a part of the path
 * with an address in it becomes `…`. So the names are few, and an erasure has nothing to change here. The URL is of a
 * customer's message and may be anything: the result has at most MAX_LENGTH characters, and no control character.
 */

const LABELS = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term', 'utm_id']
const MAX_LENGTH = 300
const MAX_LABEL = 64
const MASK = '…'

/** Null if the URL cannot be counted by name; the click then counts with the links beyond the limit. */
export function linkName(text: string): string | null {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null
  const path = url.pathname
    .split('/')
    .map((part) => (hasAddress(part) ? MASK : part))
    .join('/')
  const labels = LABELS.flatMap((name) => {
    const value = url.searchParams.get(name)
    return value === null || value.length > MAX_LABEL || hasAddress(value)
      ? []
      : [`${name}=${encodeURIComponent(value)}`]
  })
  return `${url.origin}${path}${labels.length === 0 ? '' : `?${labels.join('&')}`}`.slice(0, MAX_LENGTH)
}

/** Also where it is encoded, once or twice. */
function hasAddress(part: string): boolean {
  return /@|%(?:25)*40/.test(part)
}
