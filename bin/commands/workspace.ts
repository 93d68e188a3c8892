/** `mailstead workspace`: the tenants of this installation. */
import { type Action, type Io, runActions, tableText, UsageError } from '#bin/cli.ts'
import { withContext } from '#bin/cli-context.ts'
import { loadPlans } from '#config/plans.ts'
import { createWorkspace, listWorkspaces } from '#src/workspaces/workspaces.ts'

const MAX_NAME = 255
const MAX_LISTED = 10_000

const ACTIONS: Readonly<Record<string, Action>> = {
  create: {
    usage: 'create --name N [--plan P]',
    options: ['name', 'plan'],
    run: (call) => {
      const name = call.required('name').trim()
      if (name.length > MAX_NAME) throw new UsageError(`--name takes at most ${MAX_NAME} characters`)
      if (/\p{Cc}/u.test(name)) throw new UsageError('--name takes no control characters')
      return withContext(call.io, async ({ db, config }) => {
        const plan = call.option('plan') ?? config.defaultPlan
        const plans = Object.keys(loadPlans(config.plansFile))
        if (!plans.includes(plan)) throw new UsageError(`there is no plan ${JSON.stringify(plan)}; there are ${plans.join(', ')}`)
        const { id, keyPart } = await createWorkspace(db, { name, plan })
        return call.answer(`Workspace ${id} (${name}, plan ${plan})\nNext: mailstead key create --workspace ${id} --type admin`, { id, key_part: keyPart, name, plan })
      })
    },
  },
  list: {
    usage: 'list',
    run: (call) => withContext(call.io, async ({ db }) => {
      const rows = await listWorkspaces(db, MAX_LISTED)
      const text = tableText(['ID', 'PLAN', 'CREATED', 'NAME'], rows.map((row) => [row.id, row.plan, row.createdAt.toISOString(), row.name]))
      return call.answer(text, rows.map((row) => ({ id: row.id, key_part: row.keyPart, name: row.name, plan: row.plan, created_at: row.createdAt })))
    }),
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('workspace', ACTIONS, args, io)
}
