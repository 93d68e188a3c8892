/** The links of a mail's HTML, and what a sender should know about each. The HTML is parsed, never run. */

export type LinkScheme = 'https' | 'http' | 'mailto' | 'tel' | 'cid' | 'anchor' | 'other' | 'invalid'
/** The pages of this server behind its own links. */
export type OwnLink = 'click' | 'open' | 'unsubscribe' | 'preferences' | 'view'

export interface MailLink {
  readonly kind: 'link' | 'image'
  readonly url: string
  /** What the reader sees; of an image, its alternative text. */
  readonly text: string
}

export interface AssessedLink extends MailLink {
  readonly scheme: LinkScheme
  /** The host of http and https links. */
  readonly host: string | null
  /** Set if the link leads through this server, as tracked links do. */
  readonly own: OwnLink | null
  /** The text shows one address and the link leads to another host, as in phishing. */
  readonly hasOtherText: boolean
}

const OWN: Readonly<Record<string, OwnLink>> = { c: 'click', o: 'open', u: 'unsubscribe', p: 'preferences', v: 'view' }
/** A token of this server is long and has only these characters. */
const OWN_PATH = /^\/([couvp])\/[\w.-]{16,}/
const SCHEMES: Readonly<Record<string, LinkScheme>> = {
  'https:': 'https',
  'http:': 'http',
  'mailto:': 'mailto',
  'tel:': 'tel',
  'cid:': 'cid',
}
const SHOWN_HOST = /^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})(?:[/:?#]|$)/i

export function assessLink(link: MailLink): AssessedLink {
  const url = link.url.trim()
  if (url.startsWith('#')) return { ...link, scheme: 'anchor', host: null, own: null, hasOtherText: false }
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null) return { ...link, scheme: 'invalid', host: null, own: null, hasOtherText: false }
  const scheme = SCHEMES[parsed.protocol] ?? 'other'
  const isWeb = scheme === 'https' || scheme === 'http'
  const own = isWeb ? (OWN[OWN_PATH.exec(parsed.pathname)?.[1] ?? ''] ?? null) : null
  const shown = SHOWN_HOST.exec(link.text.trim())?.[1]?.toLowerCase()
  const host = isWeb ? parsed.host : null
  const hasOtherText =
    link.kind === 'link' && host !== null && own === null && shown !== undefined && !isSameSite(shown, host)
  return { ...link, scheme, host, own, hasOtherText }
}

/** `example.com` and `www.example.com` are the same for a reader. */
function isSameSite(shown: string, host: string): boolean {
  const bare = host.replace(/:\d+$/, '').toLowerCase()
  return bare === shown || bare.endsWith(`.${shown}`) || shown.endsWith(`.${bare}`)
}

/** In the order of the mail. */
export function readLinks(html: string): readonly MailLink[] {
  const document = new DOMParser().parseFromString(html, 'text/html')
  return [...document.querySelectorAll('a[href], area[href], img[src]')].map((element) => {
    const isImage = element.tagName === 'IMG'
    return {
      kind: isImage ? 'image' : 'link',
      url: element.getAttribute(isImage ? 'src' : 'href') ?? '',
      text: (isImage ? (element.getAttribute('alt') ?? '') : textOf(element)).replace(/\s+/g, ' ').trim(),
    }
  })
}

function textOf(element: Element): string {
  const image = element.querySelector('img[alt]')?.getAttribute('alt') ?? ''
  return element.textContent.trim() === '' ? image : element.textContent
}

/** Whether an image, a style or an old background attribute of the mail loads something from another server. */
export function hasRemoteImages(html: string): boolean {
  return /(?:src|srcset|background)\s*=\s*["']?\s*(?:https?:)?\/\/|url\(\s*["']?\s*(?:https?:)?\/\//i.test(html)
}
