/**
 * Recognises opens and clicks by machines from the request alone: its method, headers and address. Names and networks
 * are in a file (config/machines.yaml, or the operator's own MACHINES_FILE), the rules are here. hit-classifier.ts
 * applies the rules that need time.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { fileURLToPath } from 'node:url'
import ipaddr from 'ipaddr.js'
import { parse } from 'yaml'
import { z } from 'zod'
import { ConfigError } from '#config/load.ts'
import { readSettingText } from '#config/setting-file.ts'

export interface HitRequest {
  readonly isHead: boolean
  readonly headers: IncomingHttpHeaders
  /** IP address of the client. */
  readonly address: string
}

export interface MachineRules {
  /** The name of the matching rule; null: it may be a person. */
  classify(request: HitRequest): string | null
}

const names = z.record(z.string().regex(/^[a-z0-9-]{1,40}$/, 'letters, digits and hyphens'), z.array(z.string().min(1)))
const file = z.object({ agents: names.default({}), networks: names.default({}) })

const DEFAULT_FILE = fileURLToPath(new URL('../../config/machines.yaml', import.meta.url))

/** @throws ConfigError if the file cannot be read or is invalid. */
export function loadMachineRules(path: string | null): MachineRules {
  const source = path ?? DEFAULT_FILE
  try {
    return createMachineRules(file.parse(parse(readSettingText(source))))
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error)
    throw new ConfigError(`MACHINES_FILE cannot be used: ${source}: ${why}`, { cause: error })
  }
}

function createMachineRules({ agents, networks }: z.output<typeof file>): MachineRules {
  const byAgent = Object.entries(agents).flatMap(([name, words]) =>
    words.map((word) => ({ name, fits: agentMatcher(word.toLowerCase()) })),
  )
  const findNetwork = createRanges(
    Object.entries(networks).flatMap(([name, ranges]) => ranges.map((range) => rangeOf(name, range))),
  )
  return {
    classify: ({ isHead, headers, address }) => {
      if (isHead) return 'head'
      if (isPrefetch(headers)) return 'prefetch'
      const agent = (headers['user-agent'] ?? '').trim().toLowerCase()
      if (agent === '') return 'no-user-agent'
      return byAgent.find(({ fits }) => fits(agent))?.name ?? findNetwork(address)
    },
  }
}

/** Headers in which browsers and mail clients announce a prefetch. */
const PREFETCH_HEADERS = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const

function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return PREFETCH_HEADERS.some((name) => /prefetch|prerender|preview|instant/i.test(String(headers[name] ?? '')))
}

function agentMatcher(word: string): (agent: string) => boolean {
  return word.startsWith('=') ? (agent) => agent === word.slice(1) : (agent) => agent.includes(word)
}

/** Both ends as hex digits, so that the addresses of a family sort as text. */
interface Range {
  readonly name: string
  readonly from: string
  readonly to: string
}

function rangeOf(name: string, range: string): Range {
  try {
    const [ip, bits] = ipaddr.parseCIDR(range)
    const first = Buffer.from(ip.toByteArray())
    const last = Buffer.from(first)
    for (let bit = 0; bit < first.length * 8; bit++) {
      const mask = 0x80 >> (bit % 8)
      const at = bit >> 3
      if (bit >= bits) [first[at], last[at]] = [(first[at] ?? 0) & ~mask, (last[at] ?? 0) | mask]
    }
    return { name, from: first.toString('hex'), to: last.toString('hex') }
  } catch {
    throw new TypeError(`${range} of ${name} is not a network such as 192.0.2.0/24`)
  }
}

/** Finds the network of an address by binary search. */
function createRanges(ranges: readonly Range[]): (address: string) => string | null {
  // IPv4 has 8 digits, IPv6 32: one list for each family. Of nested networks only the outer one is stored.
  const lists = new Map<number, Range[]>()
  for (const range of ranges.toSorted((one, other) => compare(one.from, other.from) || -compare(one.to, other.to))) {
    const list = lists.get(range.from.length) ?? []
    lists.set(range.from.length, list)
    const before = list.at(-1)
    if (before === undefined || before.to < range.to) list.push(range)
  }
  return (address) => {
    if (!ipaddr.isValid(address)) return null
    const digits = Buffer.from(ipaddr.process(address).toByteArray()).toString('hex')
    const range = lastRangeFrom(lists.get(digits.length) ?? [], digits)
    return range !== undefined && digits <= range.to ? range.name : null
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

function lastRangeFrom(list: readonly Range[], digits: string): Range | undefined {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle]?.from ?? '') <= digits) low = middle + 1
    else high = middle
  }
  return list[low - 1]
}
