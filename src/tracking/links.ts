/**
 * The links that a mail carries for one recipient: open pixel, clicks, unsubscribing, preferences, view in browser. The same recipient of
 * the same mail always gets the same links, so a retry repeats the octets. They hold letters, digits, `-`, `_`, `.` and `/` only: they
 * may stand in any attribute, quoted or not, as they are.
 */
import type { Config } from '#config/load.ts'
import type { Encryption } from '#src/crypto/encryption.ts'
import { signClickLink, type ClickLinkSigner } from './click-signer.ts'
import { createTrackingTokens, type ListRef } from './tokens.ts'

export interface MailRef extends ListRef {
  /** Scheme and host that the links lead to, with no slash at the end: `MailTracking.base` (settings.ts). */
  readonly base: string
}

type HeaderField = readonly [name: string, value: string]

export interface Links {
  /** The address of the open pixel. */
  open(ref: MailRef): string
  /** Leads to `url`, which is http or https and absolute. */
  click(ref: MailRef, url: string): string
  /** What writes all of them. */
  clickSigner(ref: MailRef): ClickLinkSigner
  unsubscribe(ref: MailRef): string
  preferences(ref: MailRef): string
  view(ref: MailRef): string
  /** List-Unsubscribe and List-Unsubscribe-Post (RFC 8058). For mail of campaigns and automations only. */
  listUnsubscribe(ref: MailRef): readonly HeaderField[]
}

const OUR_PATH = /^\/(?:o|c|u|p|v)\/[A-Za-z0-9_-]{40,}/
/** In front of the token in the address that takes unsubscribe requests. */
export const UNSUBSCRIBE_PREFIX = 'u-'

export function createLinks({
  encryption,
  config,
}: {
  readonly encryption: Pick<Encryption, 'mac'>
  readonly config: Pick<Config, 'bounceDomain'>
}): Links {
  const tokens = createTrackingTokens(encryption)
  // several links of a mail hold the same one
  const lists = new WeakMap<MailRef, string>()
  const listToken = (ref: MailRef): string => {
    const token = lists.get(ref) ?? tokens.list(ref)
    lists.set(ref, token)
    return token
  }
  const unsubscribe = (ref: MailRef): string => `${ref.base}/u/${listToken(ref)}`
  const mailto = (ref: MailRef): string[] => {
    const { contactId, audienceId } = ref
    if (contactId === null) return []
    // the subject says by which mail; without it the address is enough
    return [
      `<mailto:${UNSUBSCRIBE_PREFIX}${tokens.mailbox({ contactId, audienceId })}@${config.bounceDomain}?subject=${listToken(ref)}>`,
    ]
  }
  const clickSigner = (ref: MailRef): ClickLinkSigner => {
    const { mail, key } = tokens.clickKey(ref)
    return { base: ref.base, mail: mail.toString('latin1'), key: key.toString('latin1') }
  }
  return {
    open: (ref) => `${ref.base}/o/${tokens.hit('open', ref)}`,
    click: (ref, url) => signClickLink(clickSigner(ref), url),
    clickSigner,
    unsubscribe,
    preferences: (ref) => `${ref.base}/p/${listToken(ref)}`,
    view: (ref) => `${ref.base}/v/${tokens.hit('view', ref)}`,
    listUnsubscribe: (ref) => [
      // https first: a reader that knows RFC 8058 takes that one
      ['List-Unsubscribe', [`<${unsubscribe(ref)}>`, ...mailto(ref)].join(', ')],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ],
  }
}

/** A link of ours, which is never wrapped: the hosts that `base` may be are not asked, a path of ours is enough. */
export function isOurLink(base: string, url: string): boolean {
  return url.startsWith(`${base}/`) && OUR_PATH.test(url.slice(base.length))
}
