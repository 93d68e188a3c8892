/**
 * The HTML of a mail with the number of people at each link. The HTML is only parsed here (no script of it runs in a
 * parsed document), and shown in the sandboxed frame. Links are found by their address; the same address twice gets the
 * same count, because the statistics are of addresses.
 */
interface CountedLink {
  readonly url: string | null
  readonly clicked_unique: number
}

const LABEL_STYLE =
  'display:inline-block;margin:0 3px;padding:0 6px;border-radius:9px;background:#1d4ed8;color:#fff;' +
  'font:600 11px/18px sans-serif;text-decoration:none;vertical-align:middle'

export function markLinks(html: string, links: readonly CountedLink[]): string {
  const counts = countsByAddress(links)
  const parsed = new DOMParser().parseFromString(html, 'text/html')
  for (const link of parsed.querySelectorAll('a[href]')) {
    const count = counts.get(toKey(link.getAttribute('href') ?? ''))
    if (count === undefined) continue
    const label = parsed.createElement('span')
    label.setAttribute('style', LABEL_STYLE)
    label.textContent = String(count)
    link.after(label)
  }
  return parsed.documentElement.outerHTML
}

export function countsByAddress(links: readonly CountedLink[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { url, clicked_unique: people } of links) {
    if (url === null) continue
    counts.set(toKey(url), (counts.get(toKey(url)) ?? 0) + people)
  }
  return counts
}

function toKey(url: string): string {
  return URL.parse(url.trim())?.href ?? url.trim()
}
