/**
 * Signs the click links of one message for one recipient. Its key is derived for that recipient of that message, so
 * this plain data may be passed to threads that render customer templates and have no other secret. The MAC in a token
 * covers the URL: a redirect leads only to a URL that was in that message for that recipient.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

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

/** Signs one link after another. Reading the key costs five times as much as a signature, so it is read once. */
export function clickLinksOf({ base, mail, key }: Omit<ClickLinkSigner, 'hostedBase'>): (url: string) => string {
  const [mailOctets, secret] = [Buffer.from(mail, 'latin1'), createSecretKey(key, 'latin1')]
  /** `url` is http or https and absolute. */
  return (url) => {
    const token = Buffer.concat([mailOctets, clickDigest(secret, url)])
    return `${base}/c/${token.toString('base64url')}/${Buffer.from(url).toString('base64url')}`
  }
}

export function clickDigest(key: Buffer | KeyObject, url: string): Buffer {
  return createHmac('sha256', key).update(url).digest().subarray(0, CLICK_MAC_BYTES)
}
