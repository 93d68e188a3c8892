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

const TODO =
  'let it listen on 127.0.0.1 only (HTTP_HOST; HTTPS_HOST is that of HTTPS_PORT; or ListenStream= of ' +
  'mailstead-api.socket), or close it in the firewall'

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
  if (config.isSandbox) return skipped('no mail leaves this machine')
  const addresses = machine.addresses.filter((address) => isReachable(address, []))
  const answers = await Promise.all(addresses.map((address) => machine.accepts(address, config.httpPort)))
  const open = addresses.filter((_, index) => answers[index] === true)
  if (open.length === 0) return ok(`port ${config.httpPort} is not open at a public address of this machine`)
  return warning(
    `port ${config.httpPort} is open at ${open.join(' and ')}: keys and passwords sent to it are not encrypted`,
    TODO,
  )
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
}

async function acceptsConnections(address: string, port: number): Promise<boolean> {
  return (await probePort(undefined, address, port)) === 'yes'
}
