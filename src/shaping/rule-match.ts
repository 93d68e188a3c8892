/** Which receiver a route leads to, and which rule a reply meets: the first of the file that matches. Pure. */
import type { Reply } from '#src/mail/reply.ts'
import type { Characters } from './linear-pattern.ts'
import { examine } from './reply-pattern.ts'
import { FALLBACK, OWN_HOSTS, type Receiver, type ReplyRule, type Shaping } from './shaping-file.ts'

export interface RouteNames {
  readonly domain: string
  /** Lower case; `isOurs` where the operator named them. */
  readonly hosts: readonly { readonly name: string; readonly isOurs: boolean }[]
}

export function findReceiver({ receivers }: Shaping, { domain, hosts }: RouteNames): Receiver {
  const isOurs = hosts.length > 0 && hosts.every((host) => host.isOurs)
  const found = isOurs
    ? receivers.find(({ name }) => name === OWN_HOSTS)
    : (receivers.find(({ domains }) => domains.some((one) => covers(one, domain))) ??
      receivers.find(({ mx }) => mx.some((one) => hosts.some((host) => covers(one, host.name)))) ??
      receivers.find(({ name }) => name === FALLBACK))
  if (found === undefined) throw new Error('a shaping file has the receivers default and transport-map')
  return found
}

/** `*.example.com` covers what is below example.com; any other pattern only itself. */
export function covers(pattern: string, name: string): boolean {
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1
    : name === pattern
}

export function findRule(
  { rules }: Shaping,
  receiver: string,
  reply: Pick<Reply, 'code' | 'enhanced' | 'text'>,
): ReplyRule | null {
  const text = examine(reply.text)
  return rules.find((rule) => meets(rule, receiver, { ...reply, text })) ?? null
}

function meets(
  rule: ReplyRule,
  receiver: string,
  { code, enhanced, text }: Pick<Reply, 'code' | 'enhanced'> & { readonly text: Characters },
): boolean {
  return (
    (rule.receivers.length === 0 || rule.receivers.includes(receiver)) &&
    (rule.codes.length === 0 || rule.codes.includes(code)) &&
    (rule.enhanced.length === 0 || rule.enhanced.includes(enhanced ?? '')) &&
    (rule.text === null || rule.text.matches(text))
  )
}
