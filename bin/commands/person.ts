/** `mailstead person`: what a workspace stores about a person. */
import { apiAction, fieldsText, type RouteLoader } from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandIo, UsageError } from '#bin/cli/call.ts'

const routes: RouteLoader = () => import('#api/routes/privacy.ts').then((module) => module.PRIVACY_ROUTES)

const ACTIONS: CliActions = {
  erase: apiAction({
    summary: 'erase everything that is stored about a person: contact, messages, events',
    usage: 'erase ADDRESS --yes',
    examples: ['erase anna@example.org --yes'],
    flags: ['yes'],
    arguments: [1, 1],
    routes,
    route: 'erase-person',
    input: (call) => {
      if (!call.has('yes')) throw new UsageError('what is erased cannot be restored: export it first, then add --yes')
      return { body: { email: call.argument(0) } }
    },
    text: (data) => `The worker erases it now. Its state: mailstead person status ${String(data['id'])}`,
  }),
  status: apiAction({
    summary: 'show the state of an erasure',
    usage: 'status ID',
    examples: ['status 01a20314-289b-7000-8f4e-5ae8a3a5d6a1'],
    arguments: [1, 1],
    routes,
    route: 'get-erasure',
    input: (call) => ({ query: { id: call.argument(0) } }),
    text: (data) => fieldsText(data),
  }),
  export: apiAction({
    summary: 'print everything that is stored about a person, one JSON object per line',
    usage: 'export ADDRESS',
    examples: ['export anna@example.org > anna.ndjson'],
    arguments: [1, 1],
    routes,
    route: 'export-person',
    input: (call) => ({ body: { email: call.argument(0) } }),
    text: (_data, _call, message) => message,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('person', ACTIONS, args, io)
}
