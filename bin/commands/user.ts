/** `mailstead user`: the people who sign in to the dashboard. Passwords are chosen behind links, never typed here. */
import { runActions } from '#bin/cli/actions.ts'
import { choose, type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import type { Context } from '#src/context.ts'
import { parseAddress } from '#src/mail/address.ts'
import { storeInvitation } from '#src/people/invitations.ts'
import { addMember } from '#src/people/members.ts'
import { joinLink, resetLink } from '#src/people/one-time-links.ts'
import { createReset } from '#src/people/password-resets.ts'
import { ROLE_NAMES, type MemberRole } from '#src/people/roles.ts'
import { resetSecondFactors } from '#src/people/second-factors.ts'
import {
  createUser,
  deleteUser,
  disableUser,
  enableUser,
  findUser,
  listUsers,
  type User,
  type UserDeletion,
} from '#src/people/users.ts'
import { isUuid, newId } from '#src/platform/id.ts'

const MAX_LISTED = 10_000
const RIGHTS = '[--workspace W] [--role R] [--operator]'

const ACTIONS: CliActions = {
  create: {
    summary: 'create a user, and print a link with which they choose a password',
    examples: ['create --email anna@example.com --name Anna --workspace Acme --role admin'],
    usage: `create --email E --name N ${RIGHTS}`,
    options: ['email', 'name', 'workspace', 'role'],
    flags: ['operator'],
    run: (call) => {
      const email = readEmail(call)
      const name = call.required('name').trim()
      return withContext(call.io, async ({ db, config }) => {
        const { workspaceId, role, isOperator } = await readRights({ db }, call)
        const id = newId()
        const reset = await db.transaction(async (tx) => {
          if (!(await createUser(tx, { id, email, name, isOperator }))) return null
          if (workspaceId !== null && role !== null) await addMember(tx, { workspaceId, userId: id }, role)
          return createReset(tx, id)
        })
        if (reset === null) return call.fail(`A user with the address ${email} exists.`, 'See mailstead user list.')
        const link = resetLink(config, reset.token)
        return call.respond(`User ${id} (${email}). ${linkText(link, reset.expiresAt)}`, {
          id,
          email,
          link,
          expires_at: reset.expiresAt,
        })
      })
    },
  },
  invite: {
    summary: 'print a link with which somebody creates an account, or joins with theirs',
    examples: [
      'invite --email anna@b.example --workspace Acme --role developer',
      'invite --email a@b.example --operator',
    ],
    usage: `invite --email E ${RIGHTS}`,
    options: ['email', 'workspace', 'role'],
    flags: ['operator'],
    run: (call) => {
      const email = readEmail(call)
      return withContext(call.io, async ({ db, config }) => {
        const place = await readRights({ db }, call)
        if (place.workspaceId === null && !place.isOperator)
          throw new UsageError('--workspace is missing (or --operator)')
        const { token, expiresAt } = await db.transaction((tx) =>
          storeInvitation(tx, { ...place, email, invitedBy: null }),
        )
        const link = joinLink(config, token)
        return call.respond(linkText(link, expiresAt), { email, link, expires_at: expiresAt })
      })
    },
  },
  list: {
    summary: 'list the users, the newest first',
    examples: ['list'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const { items } = await listUsers(db, { page: 1, limit: MAX_LISTED })
        const rows = items.map((user) => [
          user.id,
          user.email,
          user.name,
          user.isOperator ? 'operator' : '',
          user.methods.join(', '),
          user.disabledAt === null ? (user.lastUsedAt === null ? '' : timeText(user.lastUsedAt)) : 'disabled',
        ])
        const text =
          rows.length === 0
            ? 'No users.'
            : tableText(['ID', 'EMAIL', 'NAME', 'OPERATOR', 'SIGNS IN WITH', 'LAST USED'], rows)
        return call.respond(text, items.map(present))
      }),
  },
  reset: {
    summary: 'print a link with which a user chooses a new password',
    examples: ['reset anna@example.com'],
    usage: 'reset EMAIL|ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db, config }) => {
        const user = await requireUser({ db }, call.argument(0))
        const { token, expiresAt } = await db.transaction((tx) => createReset(tx, user.id))
        const link = resetLink(config, token)
        return call.respond(linkText(link, expiresAt), { id: user.id, link, expires_at: expiresAt })
      }),
  },
  'reset-factors': {
    summary: 'remove the authenticator app, recovery codes and passkeys of a user, and end their sessions',
    examples: ['reset-factors anna@example.com'],
    usage: 'reset-factors EMAIL|ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const user = await requireUser({ db }, call.argument(0))
        const removed = await resetSecondFactors(db, user.id)
        return call.respond(
          `${removed} login methods of ${user.email} are removed, and all sessions have ended.\n` +
            `For a new password: mailstead user reset ${user.email}`,
          { id: user.id, removed },
        )
      }),
  },
  disable: {
    summary: 'end the sessions of a user, who cannot sign in any more',
    examples: ['disable anna@example.com'],
    usage: 'disable EMAIL|ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const user = await requireUser({ db }, call.argument(0))
        const result = await disableUser(db, user.id)
        if (result !== 'changed') return call.fail(...REFUSALS[result])
        return call.respond(`${user.email} is disabled and signed out. To undo: mailstead user enable ${user.email}`, {
          disabled: user.id,
        })
      }),
  },
  enable: {
    summary: 'let a disabled user sign in again',
    examples: ['enable anna@example.com'],
    usage: 'enable EMAIL|ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const user = await requireUser({ db }, call.argument(0))
        await enableUser(db, user.id)
        return call.respond(`${user.email} may sign in.`, { enabled: user.id })
      }),
  },
  delete: {
    summary: 'delete a user with everything that is stored about them',
    examples: ['delete anna@example.com --yes'],
    usage: 'delete EMAIL|ID --yes',
    flags: ['yes'],
    arguments: [1, 1],
    run: (call) => {
      if (!call.has('yes')) throw new UsageError('a deleted user cannot be restored: add --yes')
      return withContext(call.io, async ({ db }) => {
        const user = await requireUser({ db }, call.argument(0))
        const result = await deleteUser(db, user.id)
        if (result !== 'changed') return call.fail(...REFUSALS[result])
        return call.respond(`${user.email} is deleted.`, { deleted: user.id })
      })
    },
  },
}

const REFUSALS: Readonly<Record<Exclude<UserDeletion, 'changed'>, readonly [problem: string, next: string]>> = {
  'not-found': ['The user was deleted meanwhile.', 'See mailstead user list.'],
  'last-operator': ['This is the last operator who can sign in.', 'Create another: mailstead user invite --operator'],
  'last-owner': ['The user is the last owner of a workspace.', 'Invite another owner first: mailstead user invite'],
}

interface UserRights {
  readonly workspaceId: string | null
  readonly role: MemberRole | null
  readonly isOperator: boolean
}

async function readRights({ db }: Pick<Context, 'db'>, call: CommandCall): Promise<UserRights> {
  const [workspace, given] = [call.option('workspace'), call.option('role')]
  const isOperator = call.has('operator')
  if (workspace === null && given !== null) throw new UsageError('--role needs --workspace')
  if (workspace === null) return { workspaceId: null, role: null, isOperator }
  const role = choose('--role', ROLE_NAMES, given ?? 'owner')
  return { workspaceId: (await requireWorkspace(db, workspace)).id, role, isOperator }
}

function readEmail(call: CommandCall): string {
  const parsed = parseAddress(call.required('email').trim())
  if (!parsed.ok) throw new UsageError(`--email ${parsed.reason}`)
  return parsed.address.address.toLowerCase()
}

async function requireUser({ db }: Pick<Context, 'db'>, text: string): Promise<User> {
  const user = await findUser(db, isUuid(text) ? { id: text } : { email: text })
  if (user === null) throw new UserError(`There is no user ${JSON.stringify(text)}.`, 'See mailstead user list.')
  return user
}

function linkText(link: string, expiresAt: Date): string {
  return `This link works once, until ${timeText(expiresAt)}, and is shown only here:\n${link}`
}

function present(user: User): Record<string, unknown> {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    is_operator: user.isOperator,
    methods: user.methods,
    disabled_at: user.disabledAt,
    created_at: user.createdAt,
    last_used_at: user.lastUsedAt,
  }
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('user', ACTIONS, args, io)
}
