/**
 * Finds the suspension by which the receiver of a site stops its mail, from the shaping file and what is stored. For
 * mail that no outbound process reports now: it waits for its next attempt, or is in a list. Pure.
 */
import type { ReceiverSuspension } from './receiver-suspensions.ts'
import { findReceiver } from './rule-match.ts'
import type { Shaping } from './shaping-file.ts'
import { ANY_SOURCE, throttleKeyOf, WILDCARD } from './throttle-key.ts'

/** Where mail goes, as far as it is known. */
export interface MailSite {
  readonly workspaceId: string
  readonly domain: string
  readonly site: string | null
  /** The MX host of the last attempt. */
  readonly host: string | null
  /** The source of the last attempt. */
  readonly source: string | null
}

/** A suspension of one source is found only for mail that was last sent from it: others may send the rest. */
export function findSuspensionAt(
  suspensions: readonly ReceiverSuspension[],
  shaping: Shaping,
  mail: MailSite,
): ReceiverSuspension | null {
  const receiver = findReceiver(shaping, { domain: mail.domain, hosts: hostsOf(mail) })
  const key = mail.site === null && !receiver.isProviderWide ? null : throttleKeyOf(receiver, mail.site ?? '')
  return (
    suspensions.find(
      ({ pace, source, workspaceId }) =>
        pace === key &&
        (workspaceId === null || workspaceId === mail.workspaceId) &&
        [ANY_SOURCE, WILDCARD, mail.source].includes(source),
    ) ?? null
  )
}

/** The site of several hosts has the name that they share: a pattern for the names below it matches, too. */
function hostsOf({ site, host }: MailSite): { readonly name: string; readonly isMapped: boolean }[] {
  const isMapped = site?.startsWith('route:') === true
  const shared = site?.split('~')[0] ?? ''
  const names = [...(host === null ? [] : [host]), ...(shared === '' ? [] : [shared, `x.${shared}`])]
  return names.map((name) => ({ name: name.toLowerCase(), isMapped }))
}
