/** `mailstead branding`: colours, texts and the logo of the public pages of a workspace. */
import { readFileSync } from 'node:fs'
import { apiAction, fieldsText, given, readAnswer, readJsonOption, type RouteLoader } from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import { routeNamed } from '#bin/cli/workspace-api.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'

const routes: RouteLoader = () => import('#api/routes/branding.ts').then((module) => module.BRANDING_ROUTES)
/** Long, and the same for all workspaces. */
const HIDDEN = ['catalogue', 'defaults']
const COLOURS = ['accent-color', 'background-color', 'text-color'] as const
const OPTIONS = [...COLOURS, 'default-language', 'texts', 'logo-alt']
const ABOUT = {
  'accent-color': 'of buttons and links, such as #1a4480',
  'background-color': 'of the page',
  'text-color': 'of the text',
  'default-language': 'two letters, such as de',
  texts: 'JSON with texts by language and key; it replaces all texts of the workspace',
  'logo-alt': 'what the logo shows, for people who do not see it',
}
const DEFAULTS = {
  accent_color: null,
  background_color: null,
  text_color: null,
  default_language: 'en',
  texts: {},
  logo_alt: null,
}

const ACTIONS: CliActions = {
  show: apiAction({
    summary: 'show the branding of the public pages',
    usage: 'show',
    examples: ['show'],
    routes,
    route: 'get-branding',
    input: () => ({}),
    text: (data) => fieldsText(data, HIDDEN),
  }),
  set: apiAction({
    summary: 'change colours and texts; what is not named is not changed',
    usage:
      'set [--accent-color C] [--background-color C] [--text-color C] [--default-language L] [--texts JSON] ' +
      '[--logo-alt TEXT]',
    examples: ["set --accent-color '#7a1f3d'", `set --texts '{"en": {"subscribe.button": "Join"}}'`],
    options: OPTIONS,
    about: ABOUT,
    routes,
    route: 'change-branding',
    input: (call) => ({ body: readChange(call) }),
    text: (data) => fieldsText(data, HIDDEN),
  }),
  logo: apiAction({
    summary: 'store the logo: a PNG, JPEG or GIF image of up to 200 KB',
    usage: 'logo FILE',
    examples: ['logo logo.png'],
    arguments: [1, 1],
    routes,
    route: 'set-logo',
    input: (call) => ({ body: { content_base64: readImage(call.argument(0)) } }),
    text: (data) => fieldsText(data, HIDDEN),
  }),
  reset: apiAction({
    summary: 'go back to the default colours and texts, and delete the logo',
    usage: 'reset',
    examples: ['reset'],
    routes,
    route: 'change-branding',
    input: () => ({ body: DEFAULTS }),
    followUp: async (_data, _call, api) => {
      await api.call(routeNamed(await routes(), 'delete-logo'), {})
      const answer = await api.call(routeNamed(await routes(), 'get-branding'), {})
      return readAnswer(answer).data ?? {}
    },
    text: (data) => fieldsText(data, HIDDEN),
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('branding', ACTIONS, args, io)
}

function readChange(call: CommandCall): Record<string, unknown> {
  const names = ['accent-color', 'background-color', 'text-color', 'default-language', 'logo-alt']
  const texts = readJsonOption(call, 'texts')
  const change = given({
    ...Object.fromEntries(names.map((name) => [name.replaceAll('-', '_'), call.option(name)])),
    texts,
  })
  if (Object.keys(change).length === 0) throw new UsageError(`nothing to change: give --${OPTIONS.join(', --')}`)
  return change
}

function readImage(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file).toString('base64')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
