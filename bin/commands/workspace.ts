/** `mailstead workspace`: the tenants of this installation. */
import { type CliActions, type CommandIo, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { loadPlans } from '#config/plans.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { waitUntilReady } from '#src/stores/redis.ts'
import { deleteCounts } from '#src/workspaces/rates.ts'
import { createWorkspace, listWorkspaces } from '#src/workspaces/workspaces.ts'

const MAX_NAME = 255
const MAX_LISTED = 10_000
const REDIS_WAIT_MS = 2000

const ACTIONS: CliActions = {
  create: {
    usage: 'create --name N [--plan P]',
    options: ['name', 'plan'],
    run: (call) => {
      const name = call.required('name').trim()
      if (name.length > MAX_NAME) throw new UsageError(`--name has more than ${MAX_NAME} characters`)
      if (/\p{Cc}/u.test(name)) throw new UsageError('--name contains a control character')
      return withContext(call.io, async ({ db, config }) => {
        const plan = call.option('plan') ?? config.defaultPlan
        const plans = Object.keys(loadPlans(config.plansFile))
        if (!plans.includes(plan))
          throw new UsageError(`unknown plan ${JSON.stringify(plan)}; plans are ${plans.join(', ')}`)
        const { id, keyPart } = await createWorkspace(db, { name, plan })
        const next = `mailstead key create --workspace ${id} --type admin`
        const text = `Workspace ${id} (${name}, plan ${plan})\nNext: ${next}`
        return call.respond(text, { id, key_part: keyPart, name, plan })
      })
    },
  },
  pause: {
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
    usage: 'resume ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const { id } = await requireWorkspace(ctx.db, call.argument(0))
        await waitUntilReady(ctx.redis, REDIS_WAIT_MS)
        await deleteCounts(ctx.db, id)
        if (!(await resume(ctx, { kind: 'workspace', subject: id }))) return call.fail(`${id} is not paused.`)
        return call.respond(`Mail of ${id} is sent again.`, { resumed: id })
      }),
  },
  list: {
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const rows = await listWorkspaces(db, MAX_LISTED)
        const cells = rows.map(({ id, plan, createdAt, name }) => [id, plan, createdAt.toISOString(), name])
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
