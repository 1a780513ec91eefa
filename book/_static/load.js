// Loads a classic script of the site when it is first needed, which works from the disk as well.
const loading = new Map();
export const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;

export function load(path) {
  if (!loading.has(path)) {
    const loaded = new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root + path;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${path} is not there`));
      document.head.append(script);
    });
    loading.set(path, loaded);
  }
  return loading.get(path);
}
