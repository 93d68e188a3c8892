/**
 * The links in a message for one recipient: open pixel, clicks, unsubscribe, preferences, view in browser. The same
 * recipient of the same message always gets the same links, so a retry repeats the octets. Links contain only letters,
 * digits, `-`, `_`, `.` and `/`, so they can stand in any attribute, quoted or not.
 */
import type { Config } from '#config/load.ts'
import type { Encryption } from '#src/crypto/encryption.ts'
import { createAddressTokens, type AddressRef } from './address-token.ts'
import { clickLinksOf, type ClickLinkSigner } from './click-signer.ts'
import { createTrackingTokens, type ListRef } from './tokens.ts'

export interface MailRef extends ListRef {
  /** Scheme and host of the links, without a trailing slash: `WorkspaceTracking.base` (settings.ts). */
  readonly base: string
}

/** What identifies the sender of a message in its links. */
export function senderIdOf({
  domainId,
  workspaceId,
}: {
  readonly domainId: string | null
  readonly workspaceId: string
}): string {
  return domainId ?? workspaceId
}

type HeaderField = readonly [name: string, value: string]

export interface Links {
  /** The URL of the open pixel. */
  open(ref: MailRef): string
  /** Redirects to `url`, an absolute http or https URL. */
  click(ref: MailRef, url: string): string
  /** The signer of all click links. */
  clickSigner(ref: MailRef): ClickLinkSigner
  unsubscribe(ref: MailRef): string
  preferences(ref: MailRef): string
  view(ref: MailRef): string
  /** List-Unsubscribe and List-Unsubscribe-Post (RFC 8058) for mail of campaigns and automations. */
  listUnsubscribe(ref: MailRef): readonly HeaderField[]
  /** The same for bulk mail by API, which has no contact. */
  bulkUnsubscribe(ref: AddressRef & Pick<MailRef, 'base'>): readonly HeaderField[]
}

const ONE_CLICK: HeaderField = ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click']
const OUR_PATH = /^\/(?:o|c|u|p|v)\/[A-Za-z0-9_-]{40,}/
/** Prefix of the token in the unsubscribe address. */
export const UNSUBSCRIBE_PREFIX = 'u-'

export function createLinks({
  encryption,
  config,
}: {
  readonly encryption: Pick<Encryption, 'mac' | 'validKeys'>
  readonly config: Pick<Config, 'bounceDomain' | 'hostedMailUrl'>
}): Links {
  const tokens = createTrackingTokens(encryption)
  const addresses = createAddressTokens(encryption)
  // several links of a message contain the same token
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
    // the subject names the message; without it the address is enough
    const mailbox = `${UNSUBSCRIBE_PREFIX}${tokens.mailbox({ contactId, audienceId })}@${config.bounceDomain}`
    return [`<mailto:${mailbox}?subject=${listToken(ref)}>`]
  }
  const hostedBase = (ref: MailRef): string => config.hostedMailUrl ?? ref.base
  const clickSigner = (ref: MailRef): ClickLinkSigner => {
    const { mail, key } = tokens.clickKey(ref)
    return { base: ref.base, hostedBase: hostedBase(ref), mail: mail.toString('latin1'), key: key.toString('latin1') }
  }
  return {
    open: (ref) => `${ref.base}/o/${tokens.hit('open', ref)}`,
    click: (ref, url) => clickLinksOf(clickSigner(ref))(url),
    clickSigner,
    unsubscribe,
    preferences: (ref) => `${ref.base}/p/${listToken(ref)}`,
    view: (ref) => `${hostedBase(ref)}/v/${tokens.hit('view', ref)}`,
    listUnsubscribe: (ref) => [
      // https first: a mail client with RFC 8058 uses it
      ['List-Unsubscribe', [`<${unsubscribe(ref)}>`, ...mailto(ref)].join(', ')],
      ONE_CLICK,
    ],
    bulkUnsubscribe: ({ base, ...ref }) => [['List-Unsubscribe', `<${base}/u/${addresses.write(ref)}>`], ONE_CLICK],
  }
}

/** Whether the URL is one of Mailstead's own links, which are never wrapped. `bases` as in the links. */
export function isOurLink(bases: readonly string[], url: string): boolean {
  return bases.some((base) => url.startsWith(`${base}/`) && OUR_PATH.test(url.slice(base.length)))
}
