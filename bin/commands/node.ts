/** `mailstead node`: the machines and containers of the installation. The endpoints /admin/nodes do the same. */
import { setTimeout as sleep } from 'node:timers/promises'
import { runActions } from '#bin/cli/actions.ts'
import type { CliActions, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { countText } from '#src/platform/plural.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { forgetNode, listNodes, nodeJson, setDraining, SILENT_SECONDS, type Node } from '#src/operator/nodes.ts'
import type { Db } from '#src/stores/db.ts'

/** A drain ends within 30 s; a node that is silent does not end it at all. */
const DRAIN_WAIT_MS = 45_000
const POLL_MS = 500

const notFound = (call: CommandCall): number =>
  call.fail(`No node is called ${call.argument(0)}.`, 'See mailstead node list.')

function describeNodes(nodes: readonly Node[]): string {
  if (nodes.length === 0) return 'No process has reported yet.'
  const rows = nodes.flatMap(({ name, state, processes, leased, seenAt }) => {
    const seen = seenAt === null ? 'never' : timeText(seenAt)
    if (processes.length === 0) return [[name, state, '', '', '', String(leased), seen]]
    return processes.map((one, i) => [
      i === 0 ? name : '',
      one.isSilent ? 'silent' : state,
      one.roles.join('+'),
      one.version,
      one.sources.join(' '),
      i === 0 ? String(leased) : '',
      timeText(one.seenAt),
    ])
  })
  return tableText(['NODE', 'STATE', 'ROLES', 'VERSION', 'SOURCES', 'LEASED', 'LAST REPORT'], rows)
}

/** Null if it is not drained in time. */
async function awaitDrained(db: Db, name: string): Promise<Node | null> {
  for (const end = Date.now() + DRAIN_WAIT_MS; Date.now() < end; await sleep(POLL_MS)) {
    const [node] = await listNodes(db, name)
    if (node === undefined || node.state === 'drained') return node ?? null
  }
  return null
}

const ACTIONS: CliActions = {
  list: {
    summary: 'list the nodes with their processes, versions and sending addresses',
    examples: ['list', 'list --json'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const nodes = await listNodes(db)
        return call.respond(describeNodes(nodes), nodes.map(nodeJson))
      }),
  },
  drain: {
    summary: 'stop sending and accepting mail on a node, within 30 seconds; its processes keep running',
    examples: ['drain mail-1', 'drain mail-1 --wait'],
    usage: 'drain NODE [--wait]',
    flags: ['wait'],
    about: { wait: 'wait until the node has no mail any more' },
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const name = call.argument(0)
        if (!(await setDraining(db, name, true))) return notFound(call)
        const result = { node: name, draining: true }
        if (!call.has('wait')) return call.respond(`${name} is being drained. See mailstead node list.`, result)
        if ((await awaitDrained(db, name)) !== null) return call.respond(`${name} is drained.`, result)
        return call.fail(
          `${name} is not drained yet.`,
          `See mailstead node list. If nothing runs there any more: mailstead node forget ${name} --yes`,
        )
      }),
  },
  undrain: {
    summary: 'use a drained node again',
    examples: ['undrain mail-1'],
    usage: 'undrain NODE',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const name = call.argument(0)
        if (!(await setDraining(db, name, false))) return notFound(call)
        return call.respond(`${name} is in use again.`, { node: name, draining: false })
      }),
  },
  forget: {
    summary: 'remove a node that is gone for good, and release its mail at once',
    examples: ['forget mail-1 --yes'],
    usage: 'forget NODE --yes',
    flags: ['yes'],
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const name = call.argument(0)
        const [node] = await listNodes(db, name)
        if (node === undefined) return notFound(call)
        if (!call.has('yes'))
          return call.fail(
            `Nothing may run on ${name} any more: its ${countText(node.leased, 'claimed recipient')} would be sent ` +
              'twice.',
            'If it is gone for good, add --yes.',
          )
        const result = await forgetNode(db, name)
        if (result === 'running')
          return call.fail(
            `A process on ${name} has reported within ${SILENT_SECONDS} s.`,
            `Stop it first, or run: mailstead node drain ${name}`,
          )
        return result === 'not-found'
          ? notFound(call)
          : call.respond(`${name} is forgotten; the worker releases its mail now.`, { node: name, forgotten: true })
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('node', ACTIONS, args, io)
}
