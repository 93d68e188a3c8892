/**
 * Parses the arguments of a command and formats its help with commander, from the table of its actions. A wrong word
 * or option is a UsageError that names the nearest correct one.
 */
import { Command, CommanderError } from 'commander'
import { heading, typed } from '#bin/terminal/colours.ts'
import { countText } from '#src/platform/plural.ts'
import { type CliAction, type CliActions, CommandCall, type CommandIo, UsageError } from './call.ts'
import { describeOption } from './option-table.ts'
import { nearestName } from '#src/platform/nearest-name.ts'

/** What the arguments ask for: an action with its call, or help, which is printed already. */
export type Parsed = { readonly kind: 'help' } | { readonly kind: 'call'; readonly run: () => Promise<number> }

const MAX_WIDTH = 120
const USAGE_WIDTH = 100
/** In the help of a command with many actions. */
const MAX_EXAMPLES = 8

/** Parses the arguments of `mailstead <command>`, whose actions the first words name. @throws UsageError */
export function parseActions(command: string, actions: CliActions, args: readonly string[], io: CommandIo): Parsed {
  const group = createGroup(command, actions, io)
  let parsed: Parsed = { kind: 'help' }
  for (const [name, action] of Object.entries(actions)) {
    const words = name.split(' ')
    const parent = words.length === 1 ? group : findOrAdd(group, words[0] ?? '', actions, io)
    const parser = createParser(words.at(-1) ?? '', action, io, command)
    const called = `${command} ${name}`
    parent.addCommand(onCall(parser, action, { ...io, command: called }, (call) => (parsed = call)))
  }
  const action = findAction(actions, args)
  if (action !== null) refuseMissingValues(action, args)
  else refuseUnknownAction(Object.keys(actions), args)
  parse(group, args)
  return parsed
}

/** Parses the arguments of a command with one action. @throws UsageError */
export function parseAction(command: string, action: CliAction, args: readonly string[], io: CommandIo): Parsed {
  let parsed: Parsed = { kind: 'help' }
  const parser = onCall(
    createParser(`mailstead ${command}`, action, io, command),
    action,
    { ...io, command },
    (call) => (parsed = call),
  )
  refuseMissingValues(action, args)
  parse(parser, args)
  return parsed
}

/** The usage lines of actions. */
export function usageText(command: string, actions: readonly CliAction[]): string {
  const usages = actions.map(({ usage }) => wrap(`mailstead ${command} ${usage}`.trim().concat(' [--json]')))
  return `Usage: ${usages.join('\n       ')}\n`
}

/** Breaks a long line before an option. */
function wrap(line: string): string {
  const [first = '', ...options] = line.split(/ (?=\[|--)/)
  const lines = [first]
  for (const option of options) {
    const last = lines.at(-1) ?? ''
    if (last.length + option.length < USAGE_WIDTH) lines[lines.length - 1] = `${last} ${option}`
    else lines.push(`           ${option}`)
  }
  return lines.join('\n')
}

function onCall(parser: Command, action: CliAction, io: CommandIo, take: (parsed: Parsed) => void): Command {
  return parser.action((words: string[], values: Record<string, unknown>) => {
    const [least, most] = action.arguments ?? [0, 0]
    if (words.length < least) throw new UsageError('an argument is missing')
    if (words.length > most) throw new UsageError(`${JSON.stringify(words[most])} is one argument too many`)
    const named = parser.options.map((one) => [one.name(), values[one.attributeName()]])
    const call = new CommandCall(io, words, Object.fromEntries(named) as Record<string, unknown>)
    take({ kind: 'call', run: () => action.run(call) })
  })
}

function createGroup(command: string, actions: CliActions, io: CommandIo): Command {
  const all = Object.values(actions)
  const examples = all.slice(0, MAX_EXAMPLES).map(({ examples: [first] }) => `mailstead ${command} ${first}`)
  const hint = `\n\`mailstead ${command} ACTION --help\` prints the options and examples of an action.\n`
  return configure(new Command(`mailstead ${command}`), usageText(command, all), io).addHelpText(
    'after',
    `\n${exampleText(examples)}${hint}`,
  )
}

function findOrAdd(group: Command, name: string, actions: CliActions, io: CommandIo): Command {
  const found = group.commands.find((one) => one.name() === name)
  if (found !== undefined) return found
  const below = Object.entries(actions).filter(([full]) => full.startsWith(`${name} `))
  const command = group.name().replace('mailstead ', '')
  const usage = usageText(
    command,
    below.map(([, action]) => action),
  )
  const added = configure(
    new Command(name).description(
      `${countText(below.length, 'action')}: ${below.map(([full]) => full.slice(name.length + 1)).join(', ')}`,
    ),
    usage,
    io,
  )
  group.addCommand(added)
  return added
}

function createParser(name: string, action: CliAction, io: CommandIo, command: string): Command {
  const parser = configure(new Command(name), usageText(command, [action]), io)
    .description(action.summary)
    .argument('[words...]')
  for (const option of action.options ?? [])
    parser.option(`--${option} <${placeholderOf(action, option)}>`, describeOption(action, option))
  for (const flag of action.flags ?? []) parser.option(`--${flag}`, describeOption(action, flag))
  const examples = action.examples.map((example) => `mailstead ${command} ${example}`.trim())
  return parser.option('--json', describeOption(action, 'json')).addHelpText('after', `\n${exampleText(examples)}`)
}

/** The word after an option in the usage. */
function placeholderOf({ usage }: CliAction, option: string): string {
  const at = usage.indexOf(`--${option} `)
  const [word = ''] = at < 0 ? [] : usage.slice(at + option.length + 3).split(/[\s\]]/)
  return word === '' || word.startsWith('-') ? option.toUpperCase() : word
}

function configure(command: Command, usage: string, io: CommandIo): Command {
  return command
    .helpCommand(false)
    .commandsGroup('Actions:')
    .exitOverride()
    .helpOption('-h, --help', 'print this help')
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: () => {}, // the caller prints the error
      getOutHasColors: () => io.hasColours?.out ?? false,
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? MAX_WIDTH, MAX_WIDTH),
    })
    .configureHelp({
      commandUsage: () => usage.replace('Usage: ', '').trimEnd(),
      styleTitle: heading,
      visibleArguments: () => [],
      subcommandTerm: (sub) => sub.name(),
    })
}

/** The examples at the end of a help text. */
export function exampleText(examples: readonly string[]): string {
  return `${heading('Examples:')}\n${examples.map((example) => `  ${typed(`$ ${example}`)}`).join('\n')}\n`
}

/** What other programs call an action. */
const SYNONYMS: readonly (readonly string[])[] = [
  ['add', 'create', 'new', 'register', 'save', 'set', 'join'],
  ['remove', 'delete', 'rm', 'drop', 'deactivate', 'unset', 'cancel', 'forget'],
  ['list', 'ls', 'status'],
  ['show', 'get', 'info', 'view', 'explain'],
  ['update', 'edit', 'change', 'set'],
]

/** Names all actions that a wrong first word may mean. Near misses within a subcommand are found by commander. */
function refuseUnknownAction(names: readonly string[], [word = '']: readonly string[]): void {
  if (word === '' || word === '-h' || word === '--help') return
  const firsts = [...new Set(names.map((name) => name.split(' ')[0] ?? ''))]
  if (word.startsWith('-'))
    throw new UsageError(`an action is missing: write one of ${firsts.join(', ')} before ${word}`)
  if (firsts.includes(word)) return
  const others = SYNONYMS.filter((row) => row.includes(word)).flat()
  const nearest = nearestName(word, firsts)
  const meant =
    nearest !== null ? [nearest] : names.filter((name) => [word, ...others].includes(name.split(' ').at(-1) ?? ''))
  const hint = meant.length === 0 ? '' : `. Did you mean ${meant.join(' or ')}?`
  throw new UsageError(`unknown action ${JSON.stringify(word)}${hint}`)
}

function parse(command: Command, args: readonly string[]): void {
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code !== 'commander.helpDisplayed') throw new UsageError(explain(error))
  }
}

/** The message of commander in our words. */
function explain({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'an action is missing'
  const [text = '', suggestion] = message.replace(/^error: /, '').split('\n')
  const word = /'([^']*)'/.exec(text)?.[1] ?? ''
  const nearest = suggestion === undefined ? '' : `. ${suggestion.replace(/^\(|\)$/g, '')}`
  if (code === 'commander.unknownCommand') return `unknown action ${JSON.stringify(word)}${nearest}`
  if (code === 'commander.unknownOption') return `unknown option ${word}${nearest}`
  if (code === 'commander.optionMissingArgument') return `${word.split(' ')[0] ?? ''} needs a value`
  return text
}

function findAction(actions: CliActions, [first = '', second = '']: readonly string[]): CliAction | null {
  const name = [`${first} ${second}`, first].find((one) => Object.hasOwn(actions, one))
  return name === undefined ? null : (actions[name] ?? null)
}

/** An option whose value looks like the next option: the value was forgotten. */
function refuseMissingValues({ options = [] }: CliAction, args: readonly string[]): void {
  for (let i = 0; i < args.length && args[i] !== '--'; i++) {
    const [arg = '', next = ''] = [args[i], args[i + 1]]
    if (!options.some((option) => arg === `--${option}`)) continue
    if (/^--?[a-z]/i.test(next) && next !== '-h' && next !== '--help')
      throw new UsageError(`${arg} needs a value. If ${next} is the value, write ${arg}=${next}`)
    i++
  }
}
