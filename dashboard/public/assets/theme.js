// Runs before the first paint, so that a page in the dark theme never flashes white. `theme.ts` changes the value.
try {
  var theme = localStorage.getItem('mailstead.theme')
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
} catch {
  // without storage the theme of the system is used
}
