/** Checks the network: whether the DNS servers answer, and whether outgoing SMTP works. Skipped in the sandbox. */
import { Resolver } from 'node:dns/promises'
import { connect } from 'node:net'
import type { Config } from '#config/load.ts'
import { type DoctorCheck, failed, ok, skipped, warning } from './check.ts'

const TIMEOUT_MS = 3000
/** A domain that certainly has an MX. */
const KNOWN_DOMAIN = 'gmail.com'
/** A DNS server that returns a negative answer works. */
const NEGATIVE_ANSWERS = new Set(['ENODATA', 'ENOTFOUND'])

function resolverOf(server: string): Resolver {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
  resolver.setServers([server])
  return resolver
}

function serversOf({ dnsServers }: Config): readonly string[] {
  return dnsServers ?? new Resolver().getServers()
}

async function isAnswering(server: string): Promise<boolean> {
  try {
    await resolverOf(server).resolveMx(KNOWN_DOMAIN)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && NEGATIVE_ANSWERS.has(String(error.code))
  }
}

export const DNS: DoctorCheck = {
  name: 'DNS',
  run: async ({ config }) => {
    if (config.isSandbox) return skipped('the sandbox has its own DNS server')
    const servers = serversOf(config)
    const results = await Promise.all(servers.map(isAnswering))
    const silent = servers.filter((_, i) => results[i] !== true)
    const todo = 'check DNS_SERVERS, or the resolvers of the system (/etc/resolv.conf)'
    if (servers.length === 0) return failed('no server is configured', todo)
    if (silent.length === 0) return ok(servers.join(', '))
    return (silent.length === servers.length ? failed : warning)(`no answer from ${silent.join(', ')}`, todo)
  },
}

async function findTarget(config: Config): Promise<string | null> {
  for (const server of serversOf(config)) {
    try {
      const resolver = resolverOf(server)
      const [mx] = (await resolver.resolveMx(KNOWN_DOMAIN)).toSorted((a, b) => a.priority - b.priority)
      const [address] = mx === undefined ? [] : await resolver.resolve4(mx.exchange)
      if (address !== undefined) return address
    } catch {
      // try the next server
    }
  }
  return null
}

function canConnect(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port, timeout: TIMEOUT_MS })
  socket.once('connect', () => resolve(true))
  socket.once('timeout', () => resolve(false))
  socket.once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

const BLOCKED =
  'many hosting providers block outgoing port 25: ask yours to open it, or use a relay (ROUTES=*=smtp://relay:25)'

export const OUTBOUND_SMTP: DoctorCheck = {
  name: 'way out',
  withinMs: 15_000,
  run: async ({ config }) => {
    if (config.isSandbox) return skipped('the sandbox has its own receiver')
    if (config.routes.some((route) => route.domain === '*')) return skipped('ROUTES sends all mail to another server')
    const target = await findTarget(config)
    if (target === null) return skipped(`DNS does not return the mail server of ${KNOWN_DOMAIN}`)
    const where = `port ${config.smtpOutPort} of ${KNOWN_DOMAIN}'s mail server (${target})`
    return (await canConnect(target, config.smtpOutPort))
      ? ok(`${where} can be reached`)
      : warning(`${where} cannot be reached`, BLOCKED)
  },
}
