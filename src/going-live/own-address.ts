/**
 * The address that mail leaves from while no source exists: the one that the system would choose, or behind a NAT the
 * one that the name of the server leads to. What receivers check of a source is checked of it too.
 *
 * The worker checks its own machine. Where outbound processes run on other machines, add their addresses as sources:
 * each source has checks of its own.
 */
import { createSocket } from 'node:dgram'
import { isReachable } from '#src/net/address-policy.ts'
import type { Config } from '#config/load.ts'
import { probePort } from '#src/egress/port-probe.ts'
import { checkSource, findPortTarget, type CheckDeps, type CheckName } from '#src/egress/source-checks.ts'
import { detailOf, sayAbout } from '#src/platform/finding-text.ts'
import { combineFindings, failed, type LiveFinding, ok, skipped, unknown } from './finding.ts'
import { liveCheckText } from './live-check-texts.ts'

/** Addresses of documentation (RFC 5737, 3849): they have a route if the family has one, and nothing is sent. */
const OUTSIDE = { udp4: '192.0.2.1', udp6: '2001:db8::1' } as const

/** Connects a UDP socket, which sends nothing, to learn which address the system chooses; null without a route. */
async function chosenAddress(family: keyof typeof OUTSIDE): Promise<string | null> {
  const socket = createSocket(family)
  const { promise, resolve } = Promise.withResolvers<string | null>()
  socket.once('error', () => resolve(null))
  socket.connect(9, OUTSIDE[family], () => resolve(socket.address().address))
  return promise.finally(() => socket.close())
}

type AddressSettings = Pick<Config, 'serverName'>

/** The public addresses of this machine, else those of the server's name. */
export async function findOwnAddresses(
  { serverName }: AddressSettings,
  { dns }: Pick<CheckDeps, 'dns'>,
): Promise<readonly string[] | LiveFinding> {
  const chosen = await Promise.all([chosenAddress('udp4'), chosenAddress('udp6')])
  const own = chosen.filter((one): one is string => one !== null && isReachable(one, []))
  if (own.length > 0) return own
  const found = await dns.addresses(serverName)
  if (found.kind === 'failed') return unknown(sayAbout(serverName, found.text))
  if (found.records.length > 0) return found.records
  return failed(
    liveCheckText('no_address', { name: serverName }),
    liveCheckText('no_address_todo', { name: serverName }),
  )
}

/** One check of a source, of every address of this machine. */
export async function checkOwnAddress(
  deps: CheckDeps & { readonly config: AddressSettings },
  name: CheckName,
  addresses: readonly string[] | LiveFinding,
): Promise<LiveFinding> {
  // the missing address is one finding, not four
  if ('status' in addresses) return name === 'PTR' ? addresses : unknown(liveCheckText('address_unknown'))
  const ehloName = deps.config.serverName
  const found = await Promise.all(
    addresses.map((address) => checkSource(deps, name, { name: 'the system', address, ehloName })),
  )
  return combineFindings(found.map((one) => (one.status === 'skipped' ? unknown(detailOf(one)) : one)))
}

/** Whether port 25 of a receiver can be reached from any address. */
export async function checkPortOut(deps: CheckDeps): Promise<LiveFinding> {
  const { egressCheckTarget, smtpOutPort } = deps.config
  if (egressCheckTarget.toLowerCase() === 'none') return skipped(liveCheckText('no_target'))
  const target = (await findPortTarget(deps, 4)) ?? (await findPortTarget(deps, 6))
  if (target === null) return unknown(liveCheckText('no_mail_server', { target: egressCheckTarget }))
  const where = { port: smtpOutPort, target: egressCheckTarget, address: target }
  const isOpen = (await probePort(undefined, target, smtpOutPort)) === 'yes'
  return isOpen
    ? ok(liveCheckText('port_open', where))
    : failed(liveCheckText('port_closed', where), liveCheckText('port_todo'))
}
