/**
 * What writes the click links of one mail for one recipient, and nothing else: its key is made of ours for that recipient of that mail. As
 * plain data it may go where the templates of customers run, and where no other secret is. The digest in a token is over the URL: a redirect
 * leads only to what stood in that mail for that recipient.
 */
import { createHmac } from 'node:crypto'

export interface ClickLinkSigner {
  /** Scheme and host that the links lead to, with no slash at the end. */
  readonly base: string
  /** What the tokens name, one character for each octet. */
  readonly mail: string
  readonly key: string
}

export const CLICK_MAC_BYTES = 12

/** `url` is http or https and absolute. */
export function signClickLink({ base, mail, key }: ClickLinkSigner, url: string): string {
  const token = Buffer.concat([Buffer.from(mail, 'latin1'), clickDigest(Buffer.from(key, 'latin1'), url)])
  return `${base}/c/${token.toString('base64url')}/${Buffer.from(url).toString('base64url')}`
}

export function clickDigest(key: Buffer, url: string): Buffer {
  return createHmac('sha256', key).update(url).digest().subarray(0, CLICK_MAC_BYTES)
}
