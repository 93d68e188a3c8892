/** `mailstead audience`: the lists of contacts of a workspace. */
import {
  apiAction,
  fieldsText,
  forOne,
  given,
  pageOf,
  PAGE_OPTIONS,
  PAGE_USAGE,
  pageText,
  valueText,
  type RouteLoader,
} from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import type { CliActions, CommandIo } from '#bin/cli/call.ts'

const routes: RouteLoader = () => import('#api/routes/audiences.ts').then((module) => module.AUDIENCE_ROUTES)
const ALIASES = ['contactCount', 'createdAt', 'updatedAt']
const EXAMPLE_ID = '01a20311-697a-7000-82ad-e7d09fbe940c'

const ACTIONS: CliActions = {
  list: apiAction({
    summary: 'list the audiences and their sizes',
    usage: `list ${PAGE_USAGE}`,
    examples: ['list', 'list --workspace Acme'],
    options: PAGE_OPTIONS,
    routes,
    route: 'get-audiences',
    input: (call) => ({ query: pageOf(call) }),
    text: pageText(
      'audiences',
      [
        ['ID', 'id'],
        ['CONTACTS', 'contact_count'],
        ['CREATED', 'created_at'],
        ['NAME', 'name'],
      ],
      'No audiences.',
    ),
  }),
  show: apiAction({
    summary: 'show an audience and the URL of its signup form',
    ...forOne('show', EXAMPLE_ID),
    routes,
    route: 'get-audience',
    input: (call) => ({ query: { id: call.argument(0) } }),
    text: (data) => fieldsText(data, ALIASES),
  }),
  create: apiAction({
    summary: 'create an audience',
    usage: 'create --name N [--description TEXT] [--double-opt-in]',
    examples: ['create --name Newsletter', 'create --name Newsletter --double-opt-in'],
    options: ['name', 'description'],
    flags: ['double-opt-in'],
    routes,
    route: 'add-audience',
    input: (call) => ({
      body: {
        name: call.required('name'),
        ...given({ description: call.option('description'), double_opt_in: call.has('double-opt-in') || null }),
      },
    }),
    text: (data) => `Audience ${valueText(data['id'])} (${valueText(data['name'])}) is created.`,
  }),
  remove: apiAction({
    summary: 'remove an audience, and the contacts that are in no other one',
    ...forOne('remove', EXAMPLE_ID),
    routes,
    route: 'delete-audience',
    input: (call) => ({ query: { id: call.argument(0) } }),
    text: (_, call) => `Audience ${call.argument(0)} is removed. Contacts that are in no other audience follow.`,
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('audience', ACTIONS, args, io)
}
