/**
 * Checks whether HTTP_PORT, which has no TLS, accepts connections at a public address of this machine. A firewall in
 * front of the machine is not seen from here, so this is a warning. Private addresses are left out: containers and
 * proxies use them.
 */
import { networkInterfaces } from 'node:os'
import type { Config } from '#config/load.ts'
import { probePort } from '#src/egress/port-probe.ts'
import { isReachable } from '#src/net/address-policy.ts'
import { type DoctorCheck, type DoctorFinding, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

/** What is known of this machine. */
interface Machine {
  readonly addresses: readonly string[]
  accepts(address: string, port: number): Promise<boolean>
}

export const PLAIN_HTTP: DoctorCheck = {
  name: 'plain HTTP',
  run: ({ config }) => checkPlainHttp(config, { addresses: ownAddresses(), accepts: acceptsConnections }),
}

type PortConfig = Pick<Config, 'isSandbox' | 'httpPort'>

export async function checkPlainHttp(config: PortConfig, machine: Machine): Promise<DoctorFinding> {
  if (config.isSandbox) return skipped(doctorText('no_mail_leaves_machine'))
  const addresses = machine.addresses.filter((address) => isReachable(address, []))
  const answers = await Promise.all(addresses.map((address) => machine.accepts(address, config.httpPort)))
  const open = addresses.filter((_, index) => answers[index] === true)
  const port = config.httpPort
  if (open.length === 0) return ok(doctorText('http_closed', { port }))
  return warning(doctorText('http_open', { port, addresses: open.join(' and ') }), doctorText('http_todo'))
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
}

async function acceptsConnections(address: string, port: number): Promise<boolean> {
  return (await probePort(undefined, address, port)) === 'yes'
}
