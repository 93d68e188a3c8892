import { useNavigate, useRouter } from '@tanstack/react-router'
import { BookOpen, LogOut, MailSearch, UserRound } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { useSignOut } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { CommandPalette } from '#dashboard/src/ui/command-palette.tsx'
import { useHotkeys } from '#dashboard/src/ui/use-hotkeys.ts'
import { CREATE_COMMANDS } from './create-commands.ts'
import type { NavigationGroup } from './navigation.ts'

interface PageCommandsProps {
  readonly groups: readonly NavigationGroup[]
  readonly basePath: string
  /** Of the person in the workspace; none in the operator area. */
  readonly permissions: readonly string[]
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

/**
 * The command palette: every page, what can be created, and messages by id or address. `mod+k` opens it; pages have
 * keys of their own.
 */
export function PageCommands(props: PageCommandsProps): ReactNode {
  const { groups, basePath, permissions, isOpen, onOpenChange } = props
  const texts = useTexts()
  const { shell } = texts
  const navigate = useNavigate()
  const { history } = useRouter()
  const signOut = useSignOut()
  const [text, setText] = useState('')
  const items = groups.flatMap((group) => group.items)
  const open = (path: string): void => void navigate({ to: path })
  const shortcuts = items.flatMap(({ keys, path }) =>
    keys === undefined ? [] : [[keys, () => open(basePath + path)] as const],
  )
  useHotkeys({
    ...Object.fromEntries(shortcuts),
    'mod+k': () => onOpenChange(!isOpen),
    '/': () => onOpenChange(true),
  })
  const created = CREATE_COMMANDS.filter(({ permission }) => permissions.includes(permission)).map(
    ({ path, icon, label }) => ({ id: path, label: label(texts), icon, onSelect: () => history.push(basePath + path) }),
  )
  const isMessage = basePath.startsWith('/w/') && /^(?:em|msg)_\w+$|@/.test(text.trim())
  const query = text.trim()
  const target = query.includes('@') ? `/messages?recipient=${encodeURIComponent(query)}` : `/messages/${query}`
  return (
    <CommandPalette
      isOpen={isOpen}
      onOpenChange={(isShown) => {
        onOpenChange(isShown)
        if (!isShown) setText('')
      }}
      label={shell.search}
      text={text}
      onTextChange={setText}
      groups={[
        ...(isMessage
          ? [
              {
                label: shell.navigation.messages,
                isSearchResult: true,
                commands: [{ id: 'message', label: query, icon: MailSearch, onSelect: () => open(basePath + target) }],
              },
            ]
          : []),
        {
          label: shell.pages,
          commands: items.map(({ path, icon, label, keys }) => ({
            id: path,
            label: label(shell.navigation),
            icon,
            shortcut: keys,
            onSelect: () => open(basePath + path),
          })),
        },
        ...(created.length === 0 ? [] : [{ label: shell.create, commands: created }]),
        {
          label: shell.more,
          commands: [
            { id: 'account', label: shell.account, icon: UserRound, onSelect: () => open('/account') },
            {
              id: 'docs',
              label: shell.apiReference,
              icon: BookOpen,
              onSelect: () => globalThis.open('/docs', '_blank'),
            },
            { id: 'sign-out', label: shell.signOut, icon: LogOut, onSelect: signOut },
          ],
        },
      ]}
    />
  )
}
