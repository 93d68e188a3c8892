/** Finds the receiver that a route leads to, and the rule that a reply matches: the first match in the file. Pure. */
import type { Reply } from '#src/mail/reply.ts'
import type { TextCharacters } from './linear-pattern.ts'
import { examinedPart } from './reply-pattern.ts'
import { FALLBACK, TRANSPORT_MAP, type ShapingReceiver, type ReplyRule, type Shaping } from './shaping-file.ts'

export interface RouteNames {
  readonly domain: string
  /** Lower case; `isMapped`: named by the operator in the transport map. */
  readonly hosts: readonly { readonly name: string; readonly isMapped: boolean }[]
}

export function findReceiver({ receivers }: Shaping, { domain, hosts }: RouteNames): ShapingReceiver {
  const isMapped = hosts.length > 0 && hosts.every((host) => host.isMapped)
  const found = isMapped
    ? receivers.find(({ name }) => name === TRANSPORT_MAP)
    : (receivers.find(({ domains }) => domains.some((one) => coversHost(one, domain))) ??
      receivers.find(({ mx }) => mx.some((one) => hosts.some((host) => coversHost(one, host.name)))) ??
      receivers.find(({ name }) => name === FALLBACK))
  if (found === undefined) throw new Error('the shaping file lacks the receivers "default" and "transport-map"')
  return found
}

/** `*.example.com` matches every name below example.com; any other pattern only itself. */
export function coversHost(pattern: string, name: string): boolean {
  return pattern.startsWith('*.')
    ? name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1
    : name === pattern
}

export function findRule(
  { rules }: Shaping,
  receiver: string,
  reply: Pick<Reply, 'code' | 'enhanced' | 'text'>,
): ReplyRule | null {
  const text = examinedPart(reply.text)
  return rules.find((rule) => matchesRule(rule, receiver, { ...reply, text })) ?? null
}

function matchesRule(
  rule: ReplyRule,
  receiver: string,
  { code, enhanced, text }: Pick<Reply, 'code' | 'enhanced'> & { readonly text: TextCharacters },
): boolean {
  return (
    (rule.receivers.length === 0 || rule.receivers.includes(receiver)) &&
    (rule.codes.length === 0 || rule.codes.includes(code)) &&
    (rule.enhanced.length === 0 || rule.enhanced.includes(enhanced ?? '')) &&
    (rule.text === null || rule.text.matches(text))
  )
}
