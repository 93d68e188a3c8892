/** `mailstead workspace`: the tenants of this installation. */
import { runActions } from '#bin/cli/actions.ts'
import { choose, type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { readUntil } from '#bin/queue/filter-options.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { countText } from '#src/platform/plural.ts'
import { operatorName } from '#bin/cli/operator-name.ts'
import { loadPlans } from '#config/plans.ts'
import type { Context } from '#src/context.ts'
import { deleteWorkspace } from '#src/operator/delete-workspace.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { waitUntilReady } from '#src/stores/redis.ts'
import { deleteCounts } from '#src/workspaces/rates.ts'
import { createWorkspace, listWorkspaces } from '#src/workspaces/workspaces.ts'

const MAX_NAME = 255
const MAX_LISTED = 10_000
const REDIS_WAIT_MS = 2000

const ACTIONS: CliActions = {
  create: {
    summary: 'create a workspace',
    examples: ['create --name Acme', 'create --name Acme --plan launch'],
    usage: 'create --name N [--plan P]',
    options: ['name', 'plan'],
    run: (call) => {
      const name = call.required('name').trim()
      if (name.length > MAX_NAME) throw new UsageError(`--name has more than ${MAX_NAME} characters`)
      if (/\p{Cc}/u.test(name)) throw new UsageError('--name contains a control character')
      return withContext(call.io, async ({ db, config }) => {
        const plan = call.option('plan') ?? config.defaultPlan
        choose('--plan', Object.keys(loadPlans(config.plansFile)), plan)
        const { id, keyPart } = await createWorkspace(db, { name, plan })
        const next = `mailstead key create --workspace ${id} --type admin`
        const text = `Workspace ${id} (${name}, plan ${plan})\nNext: ${next}`
        return call.respond(text, { id, key_part: keyPart, name, plan })
      })
    },
  },
  suspend: {
    summary: 'stop everything of a workspace: its mail, keys, links and hosted mail',
    examples: ['suspend 01a20314-289b-7000-8f4e-5ae8a3a5d6a1 --reason phishing', 'suspend Acme'],
    usage: 'suspend ID [--reason WHY] [--until TIME]',
    options: ['reason', 'until'],
    arguments: [1, 1],
    run: (call) => {
      const until = readUntil(call)
      return withContext(call.io, async (ctx) => {
        const { id } = await requireWorkspace(ctx.db, call.argument(0))
        await waitUntilReady(ctx.redis, REDIS_WAIT_MS)
        const reason = call.option('reason') ?? 'suspended by the operator'
        await suspend(ctx, { kind: 'workspace', subject: id, scope: 'all' }, reason, until)
        const end = until === null ? '' : ` until ${timeText(until)}`
        const text = [
          `${id} is suspended${end}: its mail waits, its keys get 403,`,
          'and its links, pages and hosted mail are switched off. Recipients can still unsubscribe.',
          `To resume: mailstead workspace resume ${id}`,
        ].join('\n')
        return call.respond(text, { suspended: id, scope: 'all', until })
      })
    },
  },
  pause: {
    summary: 'accept mail of a workspace, but send none',
    examples: ["pause Acme --reason 'bad list'"],
    usage: 'pause ID [--reason WHY]',
    options: ['reason'],
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const { id } = await requireWorkspace(ctx.db, call.argument(0))
        await waitUntilReady(ctx.redis, REDIS_WAIT_MS)
        await suspend(ctx, { kind: 'workspace', subject: id }, call.option('reason') ?? 'paused by the operator')
        return call.respond(`Mail of ${id} is accepted, but waits. To resume: mailstead workspace resume ${id}`, {
          paused: id,
        })
      }),
  },
  resume: {
    summary: 'send the mail of a paused workspace',
    examples: ['resume Acme'],
    usage: 'resume ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const { id } = await requireWorkspace(ctx.db, call.argument(0))
        await waitUntilReady(ctx.redis, REDIS_WAIT_MS)
        await deleteCounts(ctx.db, id)
        if (!(await resume(ctx, { kind: 'workspace', subject: id })))
          return call.fail(`${id} is not paused or suspended.`, 'See what holds mail back: mailstead queue status')
        return call.respond(`${id} is resumed: its mail is sent again.`, { resumed: id })
      }),
  },
  delete: {
    summary: 'delete a workspace with its keys, domains, contacts, campaigns and queued mail',
    usage: 'delete ID --yes',
    examples: ['delete Acme --yes'],
    flags: ['yes'],
    arguments: [1, 1],
    run: (call) => {
      if (!call.has('yes'))
        throw new UsageError(
          'a deleted workspace cannot be restored: check with `queue list --workspace`, then add --yes',
        )
      return withContext(call.io, (ctx) => remove(ctx, call))
    },
  },
  list: {
    summary: 'list the workspaces, oldest first',
    examples: ['list'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const rows = await listWorkspaces(db, MAX_LISTED)
        const cells = rows.map(({ id, plan, createdAt, name }) => [id, plan, timeText(createdAt), name])
        const json = rows.map(({ id, keyPart, name, plan, createdAt }) => ({
          id,
          key_part: keyPart,
          name,
          plan,
          created_at: createdAt,
        }))
        return call.respond(tableText(['ID', 'PLAN', 'CREATED', 'NAME'], cells), json)
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('workspace', ACTIONS, args, io)
}

async function remove(ctx: Context, call: CommandCall): Promise<number> {
  const { id, name } = await requireWorkspace(ctx.db, call.argument(0))
  await waitUntilReady(ctx.redis, REDIS_WAIT_MS)
  const progress = call.progress()
  const { dropped, deleted } = await deleteWorkspace(ctx, id, {
    by: operatorName(),
    onProgress: (step, rows) => progress.report(null, `${step}: ${countText(rows, 'row')} deleted`),
  }).finally(() => progress.end())
  const text =
    `Workspace ${id} (${name}) is deleted. ${countText(dropped, 'queued recipient')} dropped. ` +
    'Its sent messages and their events are deleted in a week.'
  return call.respond(text, { id, deleted: true, dropped, rows: deleted })
}
