/** Checks of what lies outside: DNS servers that answer, and a way out for mail. Both do not matter in the sandbox. */
import { Resolver } from 'node:dns/promises'
import { connect } from 'node:net'
import type { Config } from '#config/load.ts'
import { type Check, failed, ok, skipped, warning } from './check.ts'

const TIMEOUT_MS = 3000
/** Any domain that surely has an MX. */
const KNOWN_DOMAIN = 'gmail.com'
/** A DNS server that says "there is none" works. */
const ANSWERS = new Set(['ENODATA', 'ENOTFOUND'])

function resolverOf(server: string): Resolver {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
  resolver.setServers([server])
  return resolver
}

function serversOf({ dnsServers }: Config): readonly string[] {
  return dnsServers ?? new Resolver().getServers()
}

async function answers(server: string): Promise<boolean> {
  try {
    await resolverOf(server).resolveMx(KNOWN_DOMAIN)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && ANSWERS.has(String(error.code))
  }
}

export const DNS: Check = {
  name: 'DNS',
  look: async ({ config }) => {
    if (config.isSandbox) return skipped('the sandbox has its own')
    const servers = serversOf(config)
    const results = await Promise.all(servers.map(answers))
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
      // The next server may know.
    }
  }
  return null
}

function reaches(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port, timeout: TIMEOUT_MS })
  socket.once('connect', () => resolve(true))
  socket.once('timeout', () => resolve(false))
  socket.once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

const BLOCKED =
  'many providers block outgoing port 25: ask yours to open it, or send through a relay (ROUTES=*=smtp://relay:25)'

export const WAY_OUT: Check = {
  name: 'way out',
  withinMs: 15_000,
  look: async ({ config }) => {
    if (config.isSandbox) return skipped('the sandbox has its own receiver')
    if (config.routes.some((route) => route.domain === '*')) return skipped('ROUTES sends all mail to another server')
    const target = await findTarget(config)
    if (target === null) return skipped(`DNS does not tell the mail server of ${KNOWN_DOMAIN}`)
    const where = `port ${config.smtpOutPort} of ${KNOWN_DOMAIN}'s mail server (${target})`
    return (await reaches(target, config.smtpOutPort))
      ? ok(`${where} can be reached`)
      : warning(`${where} cannot be reached`, BLOCKED)
  },
}
