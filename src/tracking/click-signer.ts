/**
 * Signs the click links of one message for one recipient. Its key is derived for that recipient of that message, so
 * this plain data may be passed to threads that render customer templates and have no other secret. The MAC in a token
 * covers the URL: a redirect leads only to a URL that was in that message for that recipient.
 */
import { createHmac } from 'node:crypto'

export interface ClickLinkSigner {
  /** Scheme and host of the links, without a trailing slash. */
  readonly base: string
  /** The same of hosted mail ("view in browser"), whose links are not wrapped. */
  readonly hostedBase: string
  /** Message id and recipient number as in the tokens, one character for each octet. */
  readonly mail: string
  readonly key: string
}

const CLICK_MAC_BYTES = 12

/** `url` is http or https and absolute. */
export function signClickLink({ base, mail, key }: Omit<ClickLinkSigner, 'hostedBase'>, url: string): string {
  const token = Buffer.concat([Buffer.from(mail, 'latin1'), clickDigest(Buffer.from(key, 'latin1'), url)])
  return `${base}/c/${token.toString('base64url')}/${Buffer.from(url).toString('base64url')}`
}

export function clickDigest(key: Buffer, url: string): Buffer {
  return createHmac('sha256', key).update(url).digest().subarray(0, CLICK_MAC_BYTES)
}
