/** The machines and containers of the installation. The command line has the same: `mailstead node`. */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { forgetNode, listNodes, NODE_STATES, nodeJson, setDraining, SILENT_SECONDS } from '#src/operator/nodes.ts'
import { envelope, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'

const processSchema = z.object({
  id: z.uuid(),
  roles: z.array(z.string()).meta({ description: 'what it does, such as `api` or `outbound`' }),
  version: z.string(),
  sources: z.array(z.string()).meta({ description: 'names of the sending addresses that it uses' }),
  is_silent: z.boolean().meta({ description: `it has not reported for ${SILENT_SECONDS} s` }),
  started_at: timestamp,
  seen_at: timestamp.meta({ description: 'its last report' }),
})
const nodeSchema = z
  .object({
    name: z.string(),
    state: z.enum(NODE_STATES),
    leased: z.int().min(0).meta({ description: 'recipients that its processes have claimed' }),
    seen_at: timestamp.nullable().meta({ description: 'the last report of any of its processes' }),
    processes: z.array(processSchema).meta({ description: 'those that reported within a day, the oldest first' }),
  })
  .meta({ id: 'Node' })

const params = z.object({ name: z.string().min(1, 'is empty').max(255, 'is too long') })
const NOT_FOUND = refuse('NOT_FOUND', 'No node has this name. List the nodes with GET /admin/nodes.')

const list = route({
  name: 'admin-list-nodes',
  summary: 'List the nodes with their processes',
  method: 'GET',
  paths: ['/admin/nodes'],
  access: 'operator',
  status: 200,
  response: envelope(z.object({ nodes: z.array(nodeSchema).meta({ description: 'by name' }) })),
  errors: [],
  handle: async (ctx) => {
    const nodes = (await listNodes(ctx.db)).map(nodeJson)
    return { body: { success: true, message: `${countText(nodes.length, 'node')}.`, data: { nodes } } }
  },
})

function drainRoute(verb: 'drain' | 'undrain', summary: string): AnyRoute {
  return route({
    name: `admin-${verb}-node`,
    summary,
    method: 'POST',
    paths: [`/admin/nodes/:name/${verb}`],
    access: 'operator',
    params,
    status: 200,
    response: envelope(nodeSchema),
    errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
    handle: async (ctx, { params: { name } }) => {
      if (!(await setDraining(ctx.db, name, verb === 'drain'))) return NOT_FOUND
      const [node] = await listNodes(ctx.db, name)
      if (node === undefined) return NOT_FOUND
      const message = verb === 'drain' ? `${name} is being drained.` : `${name} is in use again.`
      return { body: { success: true, message, data: nodeJson(node) } }
    },
  })
}

const forget = route({
  name: 'admin-forget-node',
  summary: 'Remove a node that is gone for good, and release its mail at once',
  description: 'Nothing may run there any more: what does would send its mail twice.',
  method: 'DELETE',
  paths: ['/admin/nodes/:name'],
  access: 'operator',
  params,
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { params: { name } }) => {
    const result = await forgetNode(ctx.db, name)
    if (result === 'not-found') return NOT_FOUND
    if (result === 'running')
      return refuse('CONFLICT', `A process on ${name} has reported within ${SILENT_SECONDS} s. Stop it first.`)
    return { body: { success: true, message: `${name} is forgotten; the worker releases its mail now.` } }
  },
})

export const ADMIN_NODE_ROUTES: readonly AnyRoute[] = [
  list,
  drainRoute('drain', 'Stop sending and accepting mail on a node, within 30 seconds'),
  drainRoute('undrain', 'Use a drained node again'),
  forget,
]
