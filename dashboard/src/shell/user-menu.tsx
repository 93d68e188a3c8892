import { ChevronsUpDown, Languages, LogOut, Monitor, Moon, Sun, UserRound } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useSession, useSignOut } from '#dashboard/src/session/session.tsx'
import { LANGUAGES, useLanguage, useTexts, type Language } from '#dashboard/src/texts/language.tsx'
import { Avatar } from '#dashboard/src/ui/avatar.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { useTheme } from '#dashboard/src/ui/use-theme.ts'

const LANGUAGE_NAMES = Object.keys(LANGUAGES) as readonly Language[]

/** The account of the person, theme, language, and signing out. */
export function UserMenu(): ReactNode {
  const { shell } = useTexts()
  const { user } = useSession()
  const signOut = useSignOut()
  const { theme, setTheme } = useTheme()
  const { language, choose } = useLanguage()
  return (
    <Menu
      align="start"
      side="top"
      trigger={
        <button
          type="button"
          className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-1.5 py-1 text-left hover:bg-hover"
        >
          <Avatar name={user.name} size="sm" />
          <span className="min-w-0 flex-1 truncate text-sm">{user.name}</span>
          <ChevronsUpDown size={14} aria-hidden="true" className="shrink-0 text-faint" />
        </button>
      }
      groups={[
        { label: user.email, items: [{ label: shell.account, icon: UserRound, href: '/account' }] },
        {
          label: shell.theme,
          items: [
            {
              label: shell.themeSystem,
              icon: Monitor,
              isChecked: theme === 'system',
              onSelect: () => setTheme('system'),
            },
            { label: shell.themeLight, icon: Sun, isChecked: theme === 'light', onSelect: () => setTheme('light') },
            { label: shell.themeDark, icon: Moon, isChecked: theme === 'dark', onSelect: () => setTheme('dark') },
          ],
        },
        {
          label: shell.language,
          items: LANGUAGE_NAMES.map((name) => ({
            label: LANGUAGES[name],
            icon: Languages,
            isChecked: name === language,
            onSelect: () => choose(name),
          })),
        },
        { items: [{ label: shell.signOut, icon: LogOut, onSelect: signOut }] },
      ]}
    />
  )
}
