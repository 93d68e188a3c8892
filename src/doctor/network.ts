/** Checks whether the DNS servers answer. Skipped in the sandbox. */
import { Resolver } from 'node:dns/promises'
import type { Config } from '#config/load.ts'
import { type DoctorCheck, failed, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

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
    if (config.isSandbox) return skipped(doctorText('dns_sandbox'))
    const servers = serversOf(config)
    const results = await Promise.all(servers.map(isAnswering))
    const silent = servers.filter((_, i) => results[i] !== true)
    const todo = doctorText('dns_todo')
    if (servers.length === 0) return failed(doctorText('dns_unset'), todo)
    if (silent.length === 0) return ok(servers.join(', '))
    const find = silent.length === servers.length ? failed : warning
    return find(doctorText('dns_silent', { servers: silent.join(', ') }), todo)
  },
}
