import { Command } from 'cmdk'
import type { IconComponent } from './icon.tsx'
import { Search } from './icons.tsx'
import { Dialog as RadixDialog } from 'radix-ui'
import { OVERLAY } from './dialog.tsx'
import { Kbd } from './kbd.tsx'
import { Spinner } from './spinner.tsx'
import { useUiTexts } from './ui-texts.ts'
import { useReturnFocus } from './use-return-focus.ts'

export interface PaletteCommand {
  id: string
  label: string
  /** Shown behind the label: the kind, the address. */
  detail?: string | undefined
  keywords?: readonly string[] | undefined
  icon?: IconComponent | undefined
  shortcut?: string | undefined
  onSelect: () => void
}

export interface CommandGroup {
  label: string
  commands: readonly PaletteCommand[]
  /** Found by the server: shown whatever the text is. */
  isSearchResult?: boolean | undefined
}

export interface CommandPaletteProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  label: string
  text: string
  onTextChange: (text: string) => void
  groups: readonly CommandGroup[]
  isSearching?: boolean | undefined
}

function filterCommand(value: string, search: string, keywords?: string[]): number {
  if (value.startsWith('result:')) return 1
  const words = search.toLowerCase().split(/\s+/)
  const haystack = (keywords ?? []).join(' ').toLowerCase()
  if (!words.every((word) => haystack.includes(word))) return 0
  return haystack.startsWith(search.toLowerCase()) ? 1 : 0.5
}

function Item({ command, isResult, onDone }: { command: PaletteCommand; isResult: boolean; onDone: () => void }) {
  const { icon: Icon } = command
  return (
    <Command.Item
      value={`${isResult ? 'result' : 'command'}:${command.id}`}
      keywords={[command.label, ...(command.keywords ?? [])]}
      onSelect={() => {
        onDone()
        command.onSelect()
      }}
      className="flex min-h-9 cursor-default items-center gap-3 rounded-sm px-3 py-1.5 data-[selected=true]:bg-hover pointer-coarse:min-h-11"
    >
      {Icon !== undefined && <Icon size={16} aria-hidden="true" className="shrink-0 text-faint" />}
      <span className="min-w-0 truncate">{command.label}</span>
      {command.detail !== undefined && <span className="min-w-0 truncate text-sm text-muted">{command.detail}</span>}
      {command.shortcut !== undefined && (
        <span className="ml-auto shrink-0">
          <Kbd keys={command.shortcut} />
        </span>
      )}
    </Command.Item>
  )
}

/** Everything by its name: pages, things, actions. The caller binds `mod+k`. */
export function CommandPalette(props: CommandPaletteProps) {
  const { isOpen, onOpenChange, label, text, onTextChange, groups, isSearching = false } = props
  const returnFocus = useReturnFocus()
  const texts = useUiTexts()
  return (
    <RadixDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={OVERLAY} />
        <RadixDialog.Content
          {...returnFocus}
          aria-describedby={undefined}
          className="fixed inset-x-3 top-[8dvh] z-40 mx-auto max-w-xl animate-appear overflow-hidden rounded-lg border border-line bg-raised shadow-lg outline-none"
        >
          <RadixDialog.Title className="sr-only">{label}</RadixDialog.Title>
          <Command label={label} filter={filterCommand} loop>
            <div className="flex h-12 items-center gap-3 border-b border-line px-4 text-faint">
              {isSearching ? <Spinner isDecorative /> : <Search size={16} aria-hidden="true" />}
              <Command.Input
                value={text}
                onValueChange={onTextChange}
                placeholder={label}
                className="h-full w-full bg-transparent text-lg text-ink outline-none"
              />
            </div>
            <Command.List className="max-h-[min(24rem,60dvh)] overflow-y-auto p-1.5">
              <Command.Empty className="px-3 py-8 text-center text-muted">
                {isSearching ? texts.loading : texts.noResults}
              </Command.Empty>
              {groups.map((group) => (
                <Command.Group
                  key={group.label}
                  heading={group.label}
                  className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint"
                >
                  {group.commands.map((command) => (
                    <Item
                      key={command.id}
                      command={command}
                      isResult={group.isSearchResult === true}
                      onDone={() => onOpenChange(false)}
                    />
                  ))}
                </Command.Group>
              ))}
            </Command.List>
          </Command>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  )
}
